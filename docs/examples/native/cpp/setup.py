from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

import lshfast

setup(name="bands", ext_modules=[Pybind11Extension("bands", ["bands.cpp"], include_dirs=[lshfast.get_include()])])
