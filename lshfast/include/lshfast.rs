// The table of lshfast.h for Rust. That file says what each function does, and what its caller promises.
//
// Include this file in a module of its own, with the folder that lshfast.get_include() names:
//
//     mod lshfast {
//         include!(concat!(env!("LSHFAST_INCLUDE"), "/lshfast.rs"));
//     }

/// The version of the interface that this file declares.
pub const INTERFACE: u32 = 1;

#[repr(C)]
#[allow(dead_code)]
pub struct Kernels {
    pub interface_version: u32,
    pub functions: u32,
    pub token_of_bytes: unsafe extern "C" fn(data: *const u8, length: usize, seed: u64) -> u64,
    pub tokens_of_numbers: unsafe extern "C" fn(
        values: *const u64,
        n: usize,
        seed: u64,
        out: *mut u64,
    ),
    pub scratch_of_shingles: unsafe extern "C" fn() -> usize,
    pub word_tokens: unsafe extern "C" fn(
        text: *const u8,
        length: usize,
        size: usize,
        seed: u64,
        scratch: *mut u64,
        out: *mut u64,
    ) -> usize,
    pub character_tokens: unsafe extern "C" fn(
        text: *const u8,
        length: usize,
        size: usize,
        seed: u64,
        scratch: *mut u64,
        out: *mut u64,
    ) -> usize,
    pub classic_padding: unsafe extern "C" fn(k: usize) -> usize,
    pub draw_classic: unsafe extern "C" fn(seed: u64, k: usize, a: *mut u64, b: *mut u64),
    pub sketch_classic: unsafe extern "C" fn(
        tokens: *const u64,
        n: usize,
        a: *const u64,
        b: *const u64,
        k: usize,
        out: *mut u64,
    ),
    pub rounds_of_fast: unsafe extern "C" fn(k: usize) -> usize,
    pub draw_fast: unsafe extern "C" fn(seed: u64, k: usize, rounds: *mut u64, slots: *mut u64),
    pub sketch_fast: unsafe extern "C" fn(
        tokens: *const u64,
        n: usize,
        rounds: *const u64,
        slots: *const u64,
        k: usize,
        out: *mut u64,
    ),
    pub keys_of_bands: unsafe extern "C" fn(
        signatures: *const u64,
        n: usize,
        k: usize,
        bands: usize,
        rows: usize,
        out: *mut u64,
    ),
    pub equal_slots: unsafe extern "C" fn(a: *const u64, b: *const u64, k: usize) -> usize,
    pub table_of_set: unsafe extern "C" fn(n: usize) -> usize,
    pub distinct_tokens: unsafe extern "C" fn(
        tokens: *const u64,
        n: usize,
        table: *mut u64,
        out: *mut u64,
    ) -> usize,
    pub jaccard_of_sets: unsafe extern "C" fn(
        a: *const u64,
        n: usize,
        b: *const u64,
        m: usize,
        table: *mut u64,
    ) -> f64,
    pub draw_simhash: unsafe extern "C" fn(seed: u64, words: usize, constants: *mut u64),
    pub sketch_simhash: unsafe extern "C" fn(
        tokens: *const u64,
        n: usize,
        constants: *const u64,
        words: usize,
        code: *mut u64,
    ),
    pub count_simhash: unsafe extern "C" fn(
        tokens: *const u64,
        weights: *const i64,
        n: usize,
        constants: *const u64,
        words: usize,
        counters: *mut i64,
    ),
    pub distance_of_codes: unsafe extern "C" fn(a: *const u64, b: *const u64, bits: usize) -> usize,
    pub constant_of_groups: unsafe extern "C" fn(seed: u64) -> u64,
    pub sketch_groups: unsafe extern "C" fn(
        tokens: *const u64,
        n: usize,
        constant: u64,
        k: usize,
        out: *mut u64,
    ),
    pub compare_slots: unsafe extern "C" fn(
        one: *const u64,
        signatures: *const u64,
        n: usize,
        k: usize,
        equal: *mut i32,
        skipped: *mut i32,
    ),
    pub words_of_packed: unsafe extern "C" fn(k: usize, bits: u32) -> usize,
    pub pack_slots: unsafe extern "C" fn(
        signatures: *const u64,
        n: usize,
        k: usize,
        bits: u32,
        out: *mut u64,
    ),
    pub compare_packed_slots: unsafe extern "C" fn(
        one: *const u64,
        packed: *const u64,
        n: usize,
        k: usize,
        bits: u32,
        equal: *mut i32,
    ),
    pub log_of: unsafe extern "C" fn(x: f64) -> f64,
    pub draw_shells: unsafe extern "C" fn(seed: u64) -> u64,
    pub sketch_shells: unsafe extern "C" fn(
        tokens: *const u64,
        weights: *const f64,
        n: usize,
        constant: u64,
        k: usize,
        out: *mut u64,
    ),
    pub number_tokens: unsafe extern "C" fn(token: u64, count: usize, out: *mut u64),
    pub sample_bits: unsafe extern "C" fn(
        codes: *const u64,
        n: usize,
        words: usize,
        positions: *const u64,
        count: usize,
        scratch: *mut u64,
        out: *mut u64,
    ),
    pub bands_of_bits: unsafe extern "C" fn(
        codes: *const u64,
        n: usize,
        words: usize,
        bands: usize,
        rows: usize,
        out: *mut u64,
    ),
    pub hash_masked_bits: unsafe extern "C" fn(
        codes: *const u64,
        n: usize,
        words: usize,
        masks: *const u64,
        count: usize,
        out: *mut u64,
    ),
    pub draw_gaussian_lines: unsafe extern "C" fn(
        seed: u64,
        dim: usize,
        count: usize,
        lines: *mut f32,
    ),
    pub draw_cauchy_lines: unsafe extern "C" fn(
        seed: u64,
        dim: usize,
        count: usize,
        lines: *mut f32,
    ),
    pub offsets_of_lines: unsafe extern "C" fn(seed: u64, count: usize, offsets: *mut f64),
    pub scratch_of_cells: unsafe extern "C" fn(n: usize, count: usize) -> usize,
    pub cells_of_floats: unsafe extern "C" fn(
        vectors: *const f32,
        n: usize,
        dim: usize,
        lines: *const f32,
        offsets: *const f64,
        count: usize,
        width: f64,
        scratch: *mut f64,
        values: *mut u64,
    ) -> usize,
    pub cells_of_doubles: unsafe extern "C" fn(
        vectors: *const f64,
        n: usize,
        dim: usize,
        lines: *const f32,
        offsets: *const f64,
        count: usize,
        width: f64,
        scratch: *mut f64,
        values: *mut u64,
    ) -> usize,
    pub draw_registers: unsafe extern "C" fn(seed: u64) -> u64,
    pub update_registers: unsafe extern "C" fn(
        tokens: *const u64,
        n: usize,
        constant: u64,
        p: u32,
        registers: *mut u8,
    ),
    pub estimate_registers: unsafe extern "C" fn(registers: *const u8, p: u32) -> f64,
    pub estimate_classic: unsafe extern "C" fn(signature: *const u64, k: usize) -> f64,
    pub estimate_fast: unsafe extern "C" fn(signature: *const u64, k: usize) -> f64,
    pub sha1_of_bytes: unsafe extern "C" fn(data: *const u8, length: usize) -> u64,
    pub lower_affine32: unsafe extern "C" fn(
        hashes: *const u64,
        n: usize,
        a: *const u32,
        b: *const u32,
        k: usize,
        values: *mut u32,
    ),
    pub lower_affine64: unsafe extern "C" fn(
        hashes: *const u64,
        n: usize,
        a: *const u64,
        b: *const u64,
        k: usize,
        values: *mut u64,
    ),
    pub lower_legacy: unsafe extern "C" fn(
        hashes: *const u64,
        n: usize,
        a: *const u64,
        b: *const u64,
        k: usize,
        values: *mut u64,
    ),
    pub codes_of_trees: unsafe extern "C" fn(
        signature: *const u64,
        k: usize,
        trees: usize,
        out: *mut u64,
    ),
}

impl Kernels {
    /// Return the table to which the capsule `lshfast.kernels.native.TABLE` points, or why it cannot be used.
    ///
    /// # Safety
    /// `pointer` is that of the capsule. The table lives as long as the process.
    pub unsafe fn from_pointer(pointer: *const core::ffi::c_void) -> Result<&'static Kernels, String> {
        let head = pointer as *const u32; // the two numbers that every version begins with
        let (version, functions) = unsafe { (*head, *head.add(1)) };
        let needed = (core::mem::size_of::<Kernels>() - 8) / core::mem::size_of::<usize>();
        if version != INTERFACE || (functions as usize) < needed {
            return Err(format!(
                "built for version {INTERFACE} of lshfast's interface with {needed} functions; the installed lshfast has \
                 version {version} with {functions} functions: rebuild with its lshfast.rs, or install a lshfast that has them"
            ));
        }
        Ok(unsafe { &*(pointer as *const Kernels) })
    }
}
