"""The Lua scripts of `RedisStore`; redis.py describes the layout of the data.

KEYS are always parameters, entries and refused. A script returns one letter for each key: 1
present, 0 absent, ? damaged. The error "LSHFAST" means that the parameters differ from those that
the client knows.
"""

from __future__ import annotations

FIELDS = (
    "format",
    "num_perm",
    "bands",
    "rows",
    "scheme",
    "seed",
    "threshold",
    "shingles",
)

# Further fields of format 2.
FAMILY_FIELDS = ("family", "payload", "measure")

# ARGV: fields and values to store if there are none, or nothing. Returns the stored fields and
# values.
OPEN = """
if redis.call('EXISTS', KEYS[1]) == 0 then
  if redis.call('EXISTS', KEYS[2]) == 1 then return redis.error_reply('LSHFAST') end
  if #ARGV > 0 then redis.call('HSET', KEYS[1], unpack(ARGV)) end
end
return redis.call('HGETALL', KEYS[1])
"""

# The beginning of the other scripts. ARGV: values of the parameters, bytes of an entry, bands,
# prefix of bucket names.
_BEGIN = f"""
local known = ''
for _, value in ipairs(redis.call('HMGET', KEYS[1], '{"', '".join((*FIELDS, *FAMILY_FIELDS))}')) do
  known = known .. ' ' .. (value or '')
end
if known ~= ARGV[1] then return redis.error_reply('LSHFAST') end
local width, bands, EMPTY = tonumber(ARGV[2]), tonumber(ARGV[3]), string.rep('\\255', 8)
local function letter(size) return size == 0 and '0' or size == width and '1' or '?' end
local band = {{}}
for j = 1, bands do band[j] = ARGV[4] .. struct.pack('<I2', j - 1) end
"""

# ARGV: letters for which the transaction is refused; keys. Returns the letters of the keys.
CHECK = (
    _BEGIN
    + """
local letters = {}
for i = 6, #ARGV do
  letters[i - 5] = letter(redis.call('HSTRLEN', KEYS[2], ARGV[i]))
  if ARGV[5]:find(letters[i - 5], 1, true) then redis.call('SET', KEYS[3], '') end
end
return table.concat(letters)
"""
)

# ARGV: error, replace, skip or remove; the concatenated entries, nothing for remove; keys. Returns
# the number of entries written, and a bucket that could not be changed with the reason.
WRITE = (
    _BEGIN
    + """
if redis.call('EXISTS', KEYS[3]) == 1 then return {0, '', ''} end
local mode, entries, count, bucket, reason = ARGV[5], ARGV[6], 0, '', ''
local function change(command, key, entry)
  local first = width - 8 * bands
  for j = 1, bands do
    local bandkey = entry:sub(first + 8 * j - 7, first + 8 * j)
    if bandkey ~= EMPTY then
      local answer = redis.pcall(command, band[j] .. bandkey, key)
      if type(answer) == 'table' then bucket, reason = band[j] .. bandkey, answer.err end
    end
  end
end
for i = 7, #ARGV do
  local key = ARGV[i]
  local old = redis.call('HGET', KEYS[2], key)
  if not old or mode ~= 'skip' then
    if old then change('SREM', key, old) end
    if mode == 'remove' then
      redis.call('HDEL', KEYS[2], key)
    else
      local entry = entries:sub((i - 7) * width + 1, (i - 6) * width)
      redis.call('HSET', KEYS[2], key, entry)
      change('SADD', key, entry)
    end
    count = count + 1
  end
end
return {count, bucket, reason}
"""
)

# ARGV: two limits, after which no further query is begun: the most candidates whose entries are
# returned, and the most candidates of all queries; the concatenated band keys of the queries.
# Returns, for the queries that were begun, at least one: the numbers of candidates; the candidates,
# as positions among the distinct ones; the keys of the distinct ones; the letters and the valid
# entries of the first of them. Or returns a bucket that is not a set.
QUERY = (
    _BEGIN
    + """
local most_members, most_found, keys = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local counts, found, members, places, last = {}, {}, {}, {}, {}
for query = 1, #keys / (8 * bands) do
  if #found >= most_found or #members >= most_members then break end
  local before, first = #found, (query - 1) * 8 * bands
  for low = 1, bands, 1000 do
    local names = {}
    for j = low, math.min(low + 999, bands) do
      local bandkey = keys:sub(first + 8 * j - 7, first + 8 * j)
      if bandkey ~= EMPTY then names[#names + 1] = band[j] .. bandkey end
    end
    if #names > 0 then
      local union = redis.pcall('SUNION', unpack(names))
      if union.err then
        for _, name in ipairs(names) do
          local kind = redis.call('TYPE', name).ok
          if kind ~= 'set' and kind ~= 'none' then return {name} end
        end
        return union
      end
      for _, member in ipairs(union) do
        local place = places[member]
        if not place then
          place = #members + 1
          members[place], places[member] = member, place
        end
        if last[place] ~= query then
          last[place] = query
          found[#found + 1] = struct.pack('<I4', place - 1)
        end
      end
    end
  end
  counts[query] = struct.pack('<I4', #found - before)
end
local letters, entries, most = {}, {}, math.min(#members, most_members)
for low = 1, most, 1000 do
  local whole = {}
  for _, entry in ipairs(redis.call('HMGET', KEYS[2], unpack(members, low, math.min(low + 999, most)))) do
    letters[#letters + 1] = letter(entry and #entry or 0)
    if letters[#letters] == '1' then whole[#whole + 1] = entry end
  end
  entries[#entries + 1] = table.concat(whole)
end
return {table.concat(counts), table.concat(found), members, table.concat(letters), table.concat(entries)}
"""
)

# ARGV: a cursor; the approximate number of entries; keys, entries or buckets. Returns the next
# cursor, keys, letters (! for an entry that is missing in a bucket, if buckets are checked), and
# the concatenated entries.
SCAN = (
    _BEGIN
    + """
local answer, part = redis.call('HSCAN', KEYS[2], ARGV[5], 'COUNT', ARGV[6]), ARGV[7]
local keys, letters, entries = {}, {}, {}
for i = 1, #answer[2], 2 do
  local key, entry, place = answer[2][i], answer[2][i + 1], #keys + 1
  keys[place], letters[place] = key, letter(#entry)
  if part ~= 'keys' then entries[place] = entry end
  local first = width - 8 * bands
  if part == 'buckets' and letters[place] == '1' then
    for j = 1, bands do
      local bandkey = entry:sub(first + 8 * j - 7, first + 8 * j)
      if bandkey ~= EMPTY and redis.pcall('SISMEMBER', band[j] .. bandkey, key) ~= 1 then
        letters[place] = '!'
      end
    end
  end
end
return {answer[1], keys, table.concat(letters), table.concat(entries)}
"""
)
