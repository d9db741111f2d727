from setuptools import Extension, setup

import lshfast

setup(name="near", ext_modules=[Extension("near", ["near.c"], include_dirs=[lshfast.get_include()])])
