/* near.similarity(a, b): the estimated Jaccard similarity of the word shingles of two texts. */
#include <lshfast.h>

enum { SLOTS = 128, WORDS = 3, SEED = 1 };

static const struct lshfast_kernels *lsh;
static uint64_t *constants; /* of the rounds, and behind them of the slots */

/* Write the signature of a text to `out`, SLOTS words; return -1 with an exception set if that fails. */
static int sketch(const char *text, Py_ssize_t length, uint64_t *out) {
    const size_t room = (size_t)length / 2 + 1;
    uint64_t *scratch = PyMem_Malloc((lsh->scratch_of_shingles() + room) * sizeof(uint64_t));
    if (!scratch) {
        PyErr_NoMemory();
        return -1;
    }
    uint64_t *tokens = scratch + lsh->scratch_of_shingles();
    Py_BEGIN_ALLOW_THREADS /* the UTF-8 belongs to a str that the caller holds */
    size_t n = lsh->word_tokens((const uint8_t *)text, (size_t)length, WORDS, SEED, scratch, tokens);
    lsh->sketch_fast(tokens, n, constants, constants + lsh->rounds_of_fast(SLOTS), SLOTS, out);
    Py_END_ALLOW_THREADS
    PyMem_Free(scratch);
    return 0;
}

static PyObject *similarity(PyObject *module, PyObject *args) {
    PyObject *texts[2];
    uint64_t signatures[2][SLOTS];
    (void)module;
    if (!PyArg_ParseTuple(args, "UU", &texts[0], &texts[1])) return NULL;
    for (int i = 0; i < 2; i++) {
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(texts[i], &length);
        if (!text || sketch(text, length, signatures[i]) < 0) return NULL;
    }
    return PyFloat_FromDouble((double)lsh->equal_slots(signatures[0], signatures[1], SLOTS) / SLOTS);
}

static PyMethodDef methods[] = {{"similarity", similarity, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "near", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_near(void) {
    lsh = lshfast_import();
    if (!lsh) return NULL;
    if (!constants) {
        constants = PyMem_Malloc((lsh->rounds_of_fast(SLOTS) + SLOTS) * sizeof(uint64_t));
        if (!constants) return PyErr_NoMemory();
        lsh->draw_fast(SEED, SLOTS, constants, constants + lsh->rounds_of_fast(SLOTS));
    }
    PyObject *module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED /* nothing here is written after the import */
    if (module) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
