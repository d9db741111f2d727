import near

print(near.similarity("the quick brown fox jumps over the lazy dog", "The quick brown fox jumps over the lazy cat!"))
