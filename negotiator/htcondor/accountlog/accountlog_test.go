package accountlog

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

const halfLife = 86400

func recorded(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("testdata/Accountantnew.log")
	require.NoError(tb, err)
	return string(text)
}

// byName returns the records of a statement by name.
func byName(s accountant.Statement) map[string]accountant.Record {
	found := map[string]accountant.Record{}
	for _, r := range s.Records {
		found[r.Name] = r
	}
	return found
}

// TestRead reads a log with all that HTCondor's accountant writes, some that it does not, and a
// last transaction without an end.
func TestRead(t *testing.T) {
	l, err := Read([]byte(recorded(t)), "log")
	require.NoError(t, err)
	require.Equal(t, int64(28), l.Sequence)
	require.Equal(t, int64(1796016000), l.Created)
	require.Equal(t, "the transaction from line 58 on, which has no end", l.Ignored)
	s, notes := l.Statement(halfLife)
	require.Equal(t, int64(1796020000), s.Updated)
	require.Equal(t, map[string]int{"record Cluster": 1, "attribute Sock": 1}, notes.Unknown)
	got := byName(s)
	require.Len(t, got, 5)
	require.Equal(t, accountant.Record{
		Name: "bob@pool.test", Real: 33.5, Factor: 77, Used: 60, Weighted: 60, Ceiling: 3, Floor: 1,
	}, got["bob@pool.test"], "the transaction that has ended counts")
	alice := got["alice@pool.test"]
	require.Equal(t, accountant.Use{Slots: 2, Weight: 12}, alice.Use, "what the matches say counts")
	require.InDelta(t, 3970, alice.Used, 0, "with what is not charged yet")
	require.InDelta(t, 15880.5, alice.Weighted, 0)
	require.InDelta(t, 5.123457-120*math.Ln2/halfLife, alice.Real, 1e-12)
	require.Equal(t, accountant.Record{
		Name: "physics.carol@pool.test", Real: 2, Ceiling: 2, Leases: map[string]accountant.Lease{
			accountant.LeasedCeiling: {Until: 1796030000, Before: 20},
		},
	}, got["physics.carol@pool.test"])
	require.Equal(t, accountant.Use{}, got["<none>"].Use, "a group's use is the sum of its submitters'")
}

// TestHowUsageWaitsToBeCharged has HTCondor's next update charge what the log says, and ours what
// it was made of: both must come to the same.
func TestHowUsageWaitsToBeCharged(t *testing.T) {
	l, err := Read([]byte(recorded(t)), "log")
	require.NoError(t, err)
	s, _ := l.Statement(halfLife)
	alice := byName(s)["alice@pool.test"]
	const passed = 60 // HTCondor: usage + in use × passed + uncharged
	require.InDelta(t, 4000.0+2*passed-30, alice.Used+float64(alice.Use.Slots)*passed, 0)
	require.InDelta(t, 16000.5+12*passed-120, alice.Weighted+alice.Use.Weight*passed, 0)
	beta := math.Exp2(-passed / float64(halfLife))
	theirs := 5.123457*beta + (12-120.0/passed)*(1-beta)
	require.InDelta(t, theirs, alice.Real*beta+12*(1-beta), 1e-6)
}

// TestEveryCut cuts the log at each byte: what was written whole counts, and nothing is an error.
func TestEveryCut(t *testing.T) {
	text := recorded(t)
	for end := range text {
		l, err := Read([]byte(text[:end]), "log")
		require.NoError(t, err, "%q", text[:end])
		whole := strings.Count(text[:end], "\n")
		ends := end == 0 || text[end-1] == '\n'
		begun := strings.Count(text[:end], "\n105 \n") > strings.Count(text[:end], "\n106 \n")
		require.Equal(t, ends && !begun, l.Ignored == "", "%d whole lines", whole)
	}
}

// TestMalformed says which line is wrong, and how.
func TestMalformed(t *testing.T) {
	for line, want := range map[string]string{
		"":                          `log:2: "" is no line of an accountant's log: it must begin with a number`,
		"99 Customer.a":             `log:2: "99 Customer.a" is no line of an accountant's log`,
		"hello":                     `log:2: "hello" is no line of an accountant's log`,
		"103 Customer.a":            `log:2: "103 Customer.a" is cut off: 2 words must follow 103`,
		"103 Customer.a Priority ":  `log:2: "103 Customer.a Priority ": its value is missing`,
		"103 Customer.a Priority (": `log:2: "103 Customer.a Priority (": its value is no expression: `,
		"101 Customer.a":            `log:2: "101 Customer.a" is cut off: 2 words must follow 101`,
		"102":                       `log:2: "102" is cut off`,
		"107 x CreationTimestamp 3": `log:2: "107 x CreationTimestamp 3": strconv.ParseInt`,
		"\x00\x00\x00\x1b[31m":      `is no line of an accountant's log`,
	} {
		_, err := Read([]byte("107 1 CreationTimestamp 1\n"+line+"\n101 Customer.b * *\n"), "log")
		var wrong *SyntaxError
		require.ErrorAs(t, err, &wrong, line)
		require.Equal(t, 2, wrong.Line)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\x1b")
	}
}

// TestAsHTCondorPlaysLines: an ad that is there stays as it is when it begins again, changes of one
// that is not there change nothing, and a transaction within another belongs to that.
func TestAsHTCondorPlaysLines(t *testing.T) {
	l, err := Read([]byte("101 Customer.a@d * *\r\n103 Customer.a@d Priority 4.0\n101 Customer.a@d * *\n"+
		"103 Customer.b@d Priority 4.0\n102 Customer.b@d\n104 Customer.b@d Priority\n"+
		"105 \n103 Customer.a@d Floor 1\n105 \n103 Customer.a@d FLOOR 2\n106 #comment\n106 \n"), "log")
	require.NoError(t, err)
	require.Empty(t, l.Ignored)
	s, _ := l.Statement(halfLife)
	require.Equal(t, []accountant.Record{{Name: "a@d", Real: 4, Ceiling: -1, Floor: 2}}, s.Records)
}

// TestLeases writes leases under the names of HTCondor 25.12, and reads what is missing of them as
// it does. A lease that ended has the end 0, and an end that is below 0 counts as 0.
func TestLeases(t *testing.T) {
	text := string(Write(accountant.Statement{Records: []accountant.Record{{
		Name: "a@d", Factor: 5, Ceiling: -1, Floor: 2, Leases: map[string]accountant.Lease{
			accountant.LeasedCeiling: {Until: 100, Before: 7},
			accountant.LeasedFloor:   {Until: 200, Before: 0},
			accountant.LeasedFactor:  {Until: 300, Before: 1000},
		},
	}}}, 1, 1))
	for _, line := range []string{
		"Ceiling -1", "CeilingLeaseExpiration 100", "CeilingPreLeaseValue 7", "Floor 2", "FloorLeaseExpiration 200",
		"FloorPreLeaseValue 0", "PriorityFactor 5.0", "PriorityFactorLeaseExpiration 300",
		"PriorityFactorPreLeaseValue 1000.0",
	} {
		require.Contains(t, text, "103 Customer.a@d "+line+"\n")
	}
	l, err := Read([]byte(`101 Customer.a@d * *
103 Customer.a@d CeilingLeaseExpiration 100
103 Customer.a@d FloorLeaseExpiration 200
103 Customer.a@d PriorityFactorLeaseExpiration 300
101 Customer.b@d * *
103 Customer.b@d Ceiling 3
103 Customer.b@d CeilingLeaseExpiration 0
103 Customer.b@d CeilingPreLeaseValue 5
103 Customer.b@d FloorLeaseExpiration -7
`), "log")
	require.NoError(t, err)
	s, _ := l.Statement(halfLife)
	require.Equal(t, []accountant.Record{{
		Name: "a@d", Ceiling: -1, Leases: map[string]accountant.Lease{
			accountant.LeasedCeiling: {Until: 100, Before: -1},
			accountant.LeasedFloor:   {Until: 200, Before: 0},
			accountant.LeasedFactor:  {Until: 300, Before: 0},
		},
	}, {Name: "b@d", Ceiling: 3}}, s.Records)
}

// TestThereAndBack writes statements of all kinds and reads them: nothing is lost, to the last
// digit.
func TestThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z"\\{]{1,9}@d`), 0, 6, rapid.ID[string]).Draw(t, "names")
		s := accountant.Statement{Updated: rapid.Int64Range(0, math.MaxUint32).Draw(t, "updated")}
		amount := rapid.OneOf(rapid.Float64Range(0, 1e30), rapid.Float64Range(0, 1000), rapid.Just(0.0))
		for _, name := range names {
			r := accountant.Record{
				Name: name, Real: amount.Draw(t, "real"), Factor: amount.Draw(t, "factor"),
				Used: amount.Draw(t, "used"), Weighted: amount.Draw(t, "weighted"),
				Begin: rapid.Int64Range(0, math.MaxUint32).Draw(t, "begin"),
				Last:  rapid.Int64Range(0, math.MaxUint32).Draw(t, "last"),
				Floor: rapid.Int64Range(0, 9).Draw(t, "floor"), Ceiling: rapid.Int64Range(-1, 9).Draw(t, "ceiling"),
			}
			if slots := rapid.IntRange(0, 9).Draw(t, "slots"); slots > 0 {
				r.Use = accountant.Use{Slots: slots, Weight: float64(rapid.IntRange(0, 99).Draw(t, "weight"))}
			}
			for _, what := range []string{accountant.LeasedCeiling, accountant.LeasedFloor, accountant.LeasedFactor} {
				if !rapid.Bool().Draw(t, what) {
					continue
				}
				if r.Leases == nil {
					r.Leases = map[string]accountant.Lease{}
				}
				r.Leases[what] = accountant.Lease{
					Until:  rapid.Int64Range(1, math.MaxUint32).Draw(t, "until"),
					Before: float64(rapid.IntRange(1, 9).Draw(t, "before")),
				}
			}
			s.Records = append(s.Records, r)
		}
		text := Write(s, 3, 17)
		l, err := Read(text, "log")
		require.NoError(t, err)
		require.Equal(t, [2]int64{3, 17}, [2]int64{l.Sequence, l.Created})
		got, notes := l.Statement(halfLife)
		require.Empty(t, notes.Unknown)
		require.Equal(t, s.Updated, got.Updated)
		want := byName(s)
		require.Equal(t, want, byName(got))
	})
}

// FuzzRead: no log does harm, and what it says can be written and read again.
func FuzzRead(f *testing.F) {
	whole := recorded(f)
	for _, text := range []string{
		whole, whole[:len(whole)/2], "", "107 1 CreationTimestamp 5\n", "105 \n106 \n", "101 Customer. * *\n",
		"101 Customer.a@b * *\n103 Customer.a@b Priority 1.0 / 0\n103 Customer.a@b Ceiling 1E99\n",
		"101 Accountant. * *\n103 Accountant. LastUpdateTime \"x\"\n",
		"101 Resource.x * *\n103 Resource.x RemoteUser \"a@b\"\n103 Resource.x SlotWeight -1\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Read(text, "log")
		if err != nil {
			require.ErrorContains(t, err, "log:")
			return
		}
		s, _ := l.Statement(halfLife)
		a, err := accountant.New(accountant.DefaultSettings())
		require.NoError(t, err)
		_, err = a.Adopt(s)
		require.NoError(t, err)
		kept := a.Statement()
		again, err := Read(Write(kept, 1, 0), "log")
		require.NoError(t, err)
		back, _ := again.Statement(halfLife)
		b, err := accountant.New(accountant.DefaultSettings())
		require.NoError(t, err)
		_, err = b.Adopt(back)
		require.NoError(t, err)
		if kept.Updated >= 0 {
			require.Equal(t, kept.Updated, b.Statement().Updated)
		}
		require.Len(t, b.Statement().Records, len(kept.Records))
	})
}
