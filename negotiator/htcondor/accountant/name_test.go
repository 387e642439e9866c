package accountant

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// bad are names that nobody may have.
var bad = map[string]string{
	"missing": "", "blank": "a b@d", "tab": "a\tb@d", "line feed": "a\nb@d", "long": strings.Repeat("a", 4200) + "@d",
	"longer than a key": strings.Repeat("a", 33<<10) + "@d", "no UTF-8": "a\xff@d", "control": "a\x1b[2J@d",
	"no break": "a\u00a0b@d", "invisible": "a\u202eb@d", "just too long": strings.Repeat("a", LongestName+1),
}

func TestCheckName(t *testing.T) {
	for what, name := range bad {
		require.Error(t, CheckName(name), what)
		require.Less(t, len(CheckName(name).Error()), 400, what)
	}
	for _, name := range []string{
		"alice@d", "g.h.alice@d", "<none>", "müller@uni-köln.de", "a@b@c", `dom\alice@d`, strings.Repeat("a", LongestName),
	} {
		require.NoError(t, CheckName(name))
	}
	require.NoError(t, CheckWords("my project"))
	require.NoError(t, CheckWords(strings.Repeat("a", longestWords)))
	require.Error(t, CheckWords(strings.Repeat("a", longestWords+1)))
	require.Error(t, CheckWords("my\nproject"))
}

// TestOneBadNameInAHundred says that a submitter with a bad name is left out of whatever the
// accountant does, and that all others are charged, get their shares, are admitted and saved.
func TestOneBadNameInAHundred(t *testing.T) {
	const good = 99
	name := func(i int) string { return fmt.Sprintf("g.user%02d@d", i) }
	for what, wrong := range bad {
		t.Run(what, func(t *testing.T) {
			a := open(t, "GROUP_NAMES = g\nGROUP_QUOTA_g = 100\nPRIORITY_HALFLIFE = 100")
			use, waiting := map[string]Use{wrong: {Slots: 1, Weight: 1}}, map[string]float64{wrong: 1}
			candidates := []Candidate{{Submitter: wrong, Weight: 1}}
			for i := range good {
				use[name(i)], waiting[name(i)] = Use{Slots: 1, Weight: 2}, 1
				candidates = append(candidates, Candidate{Submitter: name(i), Weight: 1})
			}
			for now := range int64(2) {
				err := a.Update(at(100*now), use)
				require.ErrorContains(t, err, "left out of the account of what is used (1 in all)")
				require.Less(t, len(err.Error()), 500)
			}
			require.ErrorContains(t, a.Divide(1000, waiting), "left out of the division of the pool (1 in all)")
			require.NotContains(t, a.accounts, wrong)
			require.InDelta(t, 100.0, a.tree.byName["g"].quota, 1e-9)
			b := a.Bounds(NewLimits(func(string) (string, bool) { return "", false }))
			for i := range good {
				r := a.accounts[name(i)]
				require.InDelta(t, 200.0, r.Weighted, 1e-9)
				require.Positive(t, r.limit)
				require.Empty(t, Never(b.Of(candidates[i+1])))
				require.Contains(t, contents(t, a.file), name(i))
			}
			require.Error(t, a.SetFactor(wrong, 2))
			require.Error(t, a.SetPriority(wrong, 2))
			require.Error(t, a.SetUsage(wrong, 2))
			require.Error(t, a.ResetUsage(at(9), wrong))
			require.NoError(t, a.Delete(wrong))
		})
	}
}

// TestOneBadAccountInAHundred says that an account that the file cannot hold, or that cannot be
// read from it, costs no other account.
func TestOneBadAccountInAHundred(t *testing.T) {
	a := open(t, "")
	use := map[string]Use{}
	for i := range 99 {
		use[fmt.Sprintf("user%d@d", i)] = Use{Slots: 1, Weight: 1}
	}
	require.NoError(t, a.Update(at(0), use))
	for _, spoil := range []*account{
		{name: strings.Repeat("a", 1<<16)}, {name: ""}, {name: "nan@d", Used: math.NaN()},
	} {
		spoil.group = a.tree.root
		a.accounts[spoil.name] = spoil
		a.touch(spoil)
		require.NoError(t, a.SetFactor("user7@d", 3), "whose item it is not")
		require.Contains(t, contents(t, a.file)["user7@d"], `"Factor":3`)
		require.ErrorContains(t, a.Update(at(0), use), "left out of the accounting in "+a.file.Path()+" (1 in all)")
		delete(a.accounts, spoil.name)
	}
	for name, text := range map[string]string{"a b@d": "{}", "broken@d": "{", "nan@d": `{"Real":"NaN"}`} {
		require.NoError(t, a.file.Update(func(tx *statefile.Tx) error { return tx.Bucket(Bucket).Put(name, []byte(text)) }))
	}
	b, err := Open(a.file, DefaultSettings())
	require.NoError(t, err)
	require.ErrorContains(t, b.Unread(), "left out of the accounting in "+a.file.Path()+" (3 in all)")
	for name := range use {
		require.Contains(t, b.accounts, name)
	}
	require.Len(t, b.accounts, len(use)+1)
	require.Contains(t, contents(t, a.file), "broken@d", "what cannot be read stays, for people")
	require.True(t, json.Valid([]byte(contents(t, a.file)["user7@d"])))
}
