package pcre_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

var benchmarks = []struct{ name, pattern, subject string }{
	{"prefix", "^node0[0-4]", "node03.example.cern.ch"},
	{"prefix-miss", "^node0[0-4]", "wn1234.example.cern.ch"},
	{"literal", "foo", "this is a foo, see it"},
	{"literal-miss", "foo", "this is a bar, see it"},
	{"suffix", `^.*\.cern\.ch$`, "b7s04p2914.cern.ch"},
	{"suffix-miss", `^.*\.cern\.ch$`, "b7s04p2914.desy.de"},
	{"rest", "slot1@.*", "slot1@b7s04p2914.cern"},
	{"caseless", "(?i)centos|almalinux", "AlmaLinux 9.4 (Seafo"},
	{"groups", `^([^@]+)@([^.]+)\.`, "slot1_12@b7s04p2.cern"},
	{"list", `(^|,)\s*alice\s*(,|$)`, "bob, carol, alice, ev"},
	{"lookahead", "^(?!.*test).*$", "production-node-00017"},
	{"backref", `(\w)\1`, "abcdefghijklmnopqrst-zz"},
}

func BenchmarkMatch(b *testing.B) {
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			re := compile(b, bench.pattern, 0)
			caps := make([]int, 2*re.Groups()+2)
			b.ReportAllocs()
			for b.Loop() {
				budget := 1_000_000
				if _, err := re.Match(bench.subject, 0, pcre.Anywhere, caps, &budget); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGo runs the same patterns with Go's package, as far as it supports them.
func BenchmarkGo(b *testing.B) {
	for _, bench := range benchmarks {
		re, err := regexp.Compile(bench.pattern)
		if err != nil {
			continue
		}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				re.FindStringSubmatchIndex(bench.subject)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pcre.Compile(`^slot[0-9]+(_[0-9]+)?@(.*)\.cern\.ch$`, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLong has a long subject and many choices.
func BenchmarkLong(b *testing.B) {
	re := compile(b, `(?:alice|bob|carol|,\s*)*dave`, 0)
	subject := strings.Repeat("alice, bob, carol, ", 1000) + "dave"
	b.SetBytes(int64(len(subject)))
	for b.Loop() {
		budget := 10_000_000
		if matched, err := re.Match(subject, 0, pcre.Anywhere, nil, &budget); err != nil || !matched {
			b.Fatal(matched, err)
		}
	}
}

// BenchmarkCompileWorst measures what compiling takes for each byte of the patterns that take most.
func BenchmarkCompileWorst(b *testing.B) {
	for _, length := range []int{100, 3000, 60_000} {
		for _, piece := range []string{
			"a", "()", "a|", "[^a]", "[[:alpha:]]", `\pL`, `\p{^Lu}`, "a*", "a?", "(?<=a)", "(?<=a|bc)", "(?i:a)", `\Qa\E`, `\R`,
			"(?#)", "(?>a)", "(?:a|b)", "(?(?=a)b|c)", "(|a|b)", "(a(b(c)))", "[a-z]", `\d`, `\x{41}`, "a{2,3}", ".*", "(?=(?!a))",
			"(a)?", "(?:ab)*+", "()\\1", "(?1)", "(?R)|", "\\N", "(?<!(?:a|bc|def))", "$", `\b`,
		} {
			pattern := strings.Repeat(piece, length/len(piece))
			for prefix, suffix := range map[string]string{"": "", "((((((((": "))))))))", "(x)(": ")", "(?i)": "(", "(?<=": ")"} {
				text := prefix + pattern + suffix
				b.Run(fmt.Sprintf("%d/%s%s", length, prefix, piece), func(b *testing.B) {
					b.ReportAllocs()
					start := processorTime(b)
					for b.Loop() {
						_, _ = pcre.Compile(text, 0)
					}
					used := processorTime(b) - start
					b.ReportMetric(float64(used)/float64(b.N)/float64(len(text)), "ns/byte")
				})
			}
		}
	}
}

func processorTime(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
