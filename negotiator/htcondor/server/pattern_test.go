package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp/syntax"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// TestPatternsAreBounded refuses patterns that become large programs.
func TestPatternsAreBounded(t *testing.T) {
	for _, pattern := range []string{
		".*", "^(NEGOTIATOR|SCHEDD)\\.[a-z_]{1,20}$", "a{100}", "[[:alpha:]_]+_LIMIT", `\pL+`, strings.Repeat("x", longestPattern),
	} {
		_, err := compile(pattern)
		require.NoError(t, err, pattern)
	}
	for pattern, want := range map[string]string{
		strings.Repeat("x", longestPattern+1):      "at most 256 are allowed",
		"a{1000}b{1000}":                           "too large",
		"((a{1,30}){1,30}){1,30}":                  "invalid repeat count",
		"(" + strings.Repeat("a{0,900}", 28) + ")": "too large",
		strings.Repeat(`\pL`, 85):                  "too large",
		strings.Repeat(`[^a]\PL`, 30):              "too large",
		strings.Repeat("(", 100) + "a{500}{3}":     "",
	} {
		_, err := compile(pattern)
		require.ErrorContains(t, err, want, pattern)
	}
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", "(", ")", "|", "*", "+?", "{3}", "{0,9}", "{99,}", "{2,400}", "[^x]", "[a-z0-9]", `\pL`, `\b`, "^", "(?i)", ".",
		}), 0, 60).Draw(rt, "pieces")
		pattern := strings.Join(pieces, "")
		if _, err := compile(pattern); err != nil {
			rt.Skip()
		}
		tree, err := syntax.Parse(pattern, syntax.Perl)
		require.NoError(rt, err)
		program, err := syntax.Compile(tree.Simplify())
		require.NoError(rt, err)
		require.LessOrEqual(rt, len(program.Inst), 4*largestPattern, pattern)
	})
}

// TestPatternsHaveAPrice refuses patterns that take long to compare with all the names, and none
// that anybody would ask for.
func TestPatternsHaveAPrice(t *testing.T) {
	var knobs namesOf
	for i := range 1500 {
		knobs = append(knobs, fmt.Sprintf("NEGOTIATOR_SOME_KNOB_OF_A_USUAL_LENGTH_%d", i))
	}
	for pattern, names := range map[string]namesOf{
		"(?:(?:.?){31}){10}#": knobs, `(\w|.){150}#`: knobs, "(.*?){90}#": knobs, ".*": nil, "^(NEGOTIATOR|SCHEDD)\\.[a-z_]{1,20}$": nil,
		"negotiator_some_knob_of_a_usual_length_1": nil,
	} {
		_, err := affordable("(?i)"+pattern, knobs)
		if names == nil {
			require.NoError(t, err, pattern)
			continue
		}
		require.ErrorContains(t, err, "too many for", pattern)
		_, err = affordable("(?i)"+pattern, names[:10])
		require.NoError(t, err, pattern)
	}
	n := &Negotiator{Configuration: knobs}
	ours, _ := net.Pipe()
	lines, err := n.special(t.Context(), &security.Call{Stream: cedar.NewStream(ours, 0)}, "?names:(?:(?:.?){31}){10}#")
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "!error:regex:0: the pattern has ")
}

// namesOf is a configuration of settings without values.
type namesOf []string

func (namesOf) Setting(string) (Setting, bool) { return Setting{}, false }
func (n namesOf) Names() []string              { return n }

// TestQuestionsTakeTurns has a host ask while another question of its is under way: it waits, as
// anybody does who asks for what takes long.
func TestQuestionsTakeTurns(t *testing.T) {
	n := &Negotiator{
		Configuration: namesOf{"A"}, Resources: func(string) []byte { return nil },
		Plans: func(context.Context, string) (*Ads, error) { return NewAds(), nil },
	}
	synctest.Test(t, func(t *testing.T) {
		done, err := n.turns.take(t.Context(), asker{host: netip.MustParsePrefix("10.1.1.1/32")})
		require.NoError(t, err)
		defer done()
		done, err = n.explanations.take(t.Context(), asker{host: netip.MustParsePrefix("10.1.1.1/32")})
		require.NoError(t, err)
		defer done()
		ours, _ := net.Pipe()
		call := &security.Call{
			Stream: cedar.NewStream(ours, 0), Peer: security.Peer{Address: "10.1.1.1", User: security.Unauthenticated},
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = n.special(ctx, call, "?names:a")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		q := Query{Ad: classad.New()}
		q.Ad.SetString("Explain", "1.0")
		_, err = n.plans(ctx, call, q)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		q.Ad.SetString("Explain", strings.Repeat("1", longestJob+1))
		_, err = n.plans(t.Context(), call, q)
		require.ErrorContains(t, err, "at most 1024 are allowed")
	})
}

// BenchmarkPattern compares the dearest patterns that are allowed with 1,500 names of 60 kB.
func BenchmarkPattern(b *testing.B) {
	var knobs namesOf
	for i := range 1500 {
		knobs = append(knobs, fmt.Sprintf("NEGOTIATOR_SOME_KNOB_OF_A_USUAL_LENGTH_%d", i))
	}
	for _, piece := range []string{".?", "(?:.?)?", `(\w|.)?`, "(.*?)", "(.*)*", `[\w.-]?`, "[^#%&,;:<>=!|~]?", `(\w|[^#])*`} {
		pattern := ""
		for n := range 100 {
			longer := "(?i)" + fmt.Sprintf("(?:%s){%d}#", piece, n+1)
			if _, err := affordable(longer, knobs); err != nil {
				break
			}
			pattern = longer
		}
		b.Run(pattern, func(b *testing.B) {
			re, err := affordable(pattern, knobs)
			require.NoError(b, err)
			var before, after unix.Rusage // the wall's clock says little on a busy machine
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
			for b.Loop() {
				for _, name := range knobs {
					if re.MatchString(name) {
						b.Fatal(name)
					}
				}
			}
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(spent)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}
