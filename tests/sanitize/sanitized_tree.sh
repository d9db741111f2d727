# Sourced by modules.sh and threads_sanitizer.sh: builds the compiled modules with sanitizers, by LSHFAST_SANITIZE of
# setup.py, and copies them, with the package, the tests and what these read, to $folder/tree. Needs $folder, and $python.
# The first build takes minutes, later ones compile what changed. The tree of the repository stays as it is.

# sanitized_tree SANITIZERS
sanitized_tree() {
    mkdir "$folder/tree"
    LSHFAST_SANITIZE=$1 "$python" setup.py -q build_ext --build-lib "$folder/built"
    tar -cf - --exclude='*.so' lshfast src tests benchmarks docs README.md pyproject.toml setup.py |
        tar -xf - -C "$folder/tree"
    cp "$folder"/built/lshfast/kernels/* "$folder/tree/lshfast/kernels"
}
