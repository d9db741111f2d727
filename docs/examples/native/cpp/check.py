import bands

texts = ["the quick brown fox jumps over the lazy dog", "The quick brown fox jumps over the lazy cat!"]
keys = bands.keys(texts, 18, 3)
print(keys.shape, keys.dtype, "shared buckets:", (keys[0] == keys[1]).sum())
