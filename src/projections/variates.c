/* Gaussian and Cauchy variates from random words, of +, -, *, / and square roots alone, each rounded to a double: the same
 * bits everywhere. A word gives a sign, bit 0, and the probability of the tail beyond the variate, in (0, 1/2), from its
 * upper 52 bits. */
#include "projections/projections.h"
#include "weighted/weighted.h"

#include <math.h>

NO_CONTRACTION

/* In (0, 1/2), exact. */
static inline double tail_of(uint64_t word) { return ((double)(int64_t)(word >> 12) + 0.5) * 0x1p-53; }

static inline double signed_by(uint64_t word, double x) { return word & 1 ? -x : x; }

/* A quotient of polynomials of degree 7, coefficients of the highest power first. */
static inline double quotient(const double above[8], const double below[8], double r) {
    double x = above[0], y = below[0];
    for (size_t i = 1; i < 8; i++) {
        x = x * r + above[i];
        y = y * r + below[i];
    }
    return x / y;
}

/* M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37, 1988: about
 * sixteen digits. */
static const double CENTRE[2][8] = {
    {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
     1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0},
    {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
     5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0},
};
static const double MIDDLE[2][8] = {
    {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
     3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0},
    {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1.0},
};
static const double TAIL[2][8] = {
    {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e+0, 5.46378491116411436990e+0, 6.65790464350110377720e+0},
    {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0},
};

double projections_gaussian(uint64_t word) {
    double p = tail_of(word), q = 0.5 - p, x;
    if (q <= 0.425) {
        x = q * quotient(CENTRE[0], CENTRE[1], 0.180625 - q * q);
    } else {
        double r = sqrt(-weighted_log(p));
        x = r <= 5.0 ? quotient(MIDDLE[0], MIDDLE[1], r - 1.6) : quotient(TAIL[0], TAIL[1], r - 5.0);
    }
    return signed_by(word, x);
}

#define PI 0x1.921fb54442d18p+1

/* tan y for y in [0, pi/4]: Lambert's continued fraction, y / (1 - y^2 / (3 - y^2 / (5 - ..))), to 17. */
static inline double tangent(double y) {
    double z = y * y, x = 17.0;
    for (double odd = 15.0; odd > 0; odd -= 2.0) x = odd - z / x;
    return y / x;
}

/* The tail beyond x has the probability 1/2 - atan(x) / pi. */
double projections_cauchy(uint64_t word) {
    double p = tail_of(word);
    return signed_by(word, p < 0.25 ? 1.0 / tangent(PI * p) : tangent(PI * (0.5 - p)));
}

void projections_draw(uint64_t seed, enum domain domain, uint64_t j, size_t rows, size_t count, float *out) {
    for (size_t r = 0; r < rows; r++, j++, out += count) {
        for (size_t f = 0; f < count; f++) {
            uint64_t word = draw(seed, domain, (uint64_t)f << 32 | j);
            out[f] = (float)(domain == DOMAIN_CAUCHY ? projections_cauchy(word) : projections_gaussian(word));
        }
    }
}

void projections_offsets(uint64_t seed, size_t count, double *out) {
    for (size_t f = 0; f < count; f++) out[f] = (double)(int64_t)(draw(seed, DOMAIN_LINE_OFFSET, f) >> 11) * 0x1p-53;
}
