// bands.keys(texts, bands, rows): the bucket keys of texts, uint64 (n, bands), as a numpy array.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <lshfast.h>

#include <string>
#include <vector>

namespace py = pybind11;

static const lshfast_kernels *lsh;

// Return the bucket keys of the word shingles of texts.
static py::array_t<uint64_t> keys(const std::vector<std::string> &texts, size_t bands, size_t rows, size_t words,
                                  uint64_t seed) {
    if (bands < 1 || rows < 1 || bands > 65536 / rows)
        throw py::value_error("bands and rows must be at least 1, and their product at most 65536");
    if (words < 1 || words > 256) throw py::value_error("words must be 1 to 256");
    const size_t k = bands * rows;
    py::array_t<uint64_t> out({texts.size(), bands});
    uint64_t *written = out.mutable_data();
    py::gil_scoped_release release;
    std::vector<uint64_t> rounds(lsh->rounds_of_fast(k)), slots(k), scratch(lsh->scratch_of_shingles()), tokens;
    std::vector<uint64_t> signatures(texts.size() * k);
    lsh->draw_fast(seed, k, rounds.data(), slots.data());
    for (size_t i = 0; i < texts.size(); i++) {
        tokens.resize(texts[i].size() / 2 + 1);
        const auto *text = reinterpret_cast<const uint8_t *>(texts[i].data());
        const size_t n = lsh->word_tokens(text, texts[i].size(), words, seed, scratch.data(), tokens.data());
        lsh->sketch_fast(tokens.data(), n, rounds.data(), slots.data(), k, &signatures[i * k]);
    }
    lsh->keys_of_bands(signatures.data(), texts.size(), k, bands, rows, written);
    return out;
}

PYBIND11_MODULE(bands, m, py::mod_gil_not_used()) {
    lsh = lshfast_import();
    if (!lsh) throw py::error_already_set();
    m.def("keys", &keys, py::arg("texts"), py::arg("bands"), py::arg("rows"), py::arg("words") = 3, py::arg("seed") = 1);
}
