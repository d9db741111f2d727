"""From scores to links: `scoring` scores pairs, `decision` chooses the threshold, `assignment` and
`clusters` choose links among pairs, and `labels` applies the marks of people.
"""
