package ast_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

func sameReal(t *testing.T, text string) {
	t.Helper()
	want, wrong := strconv.ParseFloat(text, 64)
	got, err := ast.ParseReal(text)
	require.Equal(t, math.Float64bits(want), math.Float64bits(got), text)
	require.Equal(t, wrong == nil, err == nil, text)
}

// Numbers are read as strconv does it, also half way between two neighbours and a digit beside.
func TestParseReal(t *testing.T) {
	zeros := strings.Repeat("0", 900)
	for _, text := range []string{
		"", "1", "-0", "0e5", ".5", "5.", ".", "e5", "1e", "1e+", "x", "1_0", "0x1p-1074", "inf", "-nan", "1e400", "-1e400",
		"1e-400", "4e-320", "-4e-320", "2.4703282292062327208e-324", "2.4703282292062328e-324", "1e99999999999999999999",
		"0." + zeros + "1e800", "1" + zeros + "e-900", zeros + "1", "0." + zeros, "1.7976931348623158e308",
		"1.797693134862315807937e308", "1.797693134862315907937e308", "2.2250738585072011e-308",
	} {
		sameReal(t, text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		x := math.Float64frombits(r.Uint64() & (1<<63 - 1))
		if math.IsInf(x, 0) || math.IsNaN(x) {
			continue
		}
		if r.IntN(2) == 0 {
			x = math.Float64frombits(r.Uint64() >> (11 + r.IntN(53))) // a small or denormal number
		}
		next := math.Nextafter(x, math.Inf(1))
		sameReal(t, between(x, next))
		sameReal(t, strings.Replace(between(x, next), "000e", "001e", 1))
		sameReal(t, strconv.FormatFloat(x, 'e', r.IntN(30), 64))
		sameReal(t, fmt.Sprintf("%s%de%d", strings.Repeat("9", r.IntN(40)), r.Uint64(), r.IntN(700)-350))
	}
}

// between returns the number half way between two neighbours with all of its digits.
func between(x, next float64) string {
	const bits = 2200
	sum := new(big.Float).SetPrec(bits).SetFloat64(x)
	sum.Add(sum, new(big.Float).SetFloat64(next))
	sum.Quo(sum, big.NewFloat(2))
	mantissa, power, _ := strings.Cut(sum.Text('e', 800), "e")
	return mantissa + strings.Repeat("0", 3) + "e" + power
}
