package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// drawTold draws what some negotiators say of some jobs.
func drawTold(t *rapid.T) (told []answered[Explained]) {
	for i := range rapid.IntRange(2, 4).Draw(t, "negotiators") {
		one := answered[Explained]{name: fmt.Sprintf("n%d@host", i)}
		for j := range 6 {
			if !rapid.Bool().Draw(t, "knows") {
				continue
			}
			e := Explained{SlotsInPool: rapid.Int64Range(0, 9).Draw(t, "slots")}
			e.Job, e.Schedd = fmt.Sprintf("%d.0", j/2), fmt.Sprintf("s%d", j%2)
			e.Situation = rapid.SampledFrom([]string{"runs", "reserved", "waits", "held"}).Draw(t, "situation")
			if e.Situation == "runs" || e.Situation == "reserved" {
				e.Start = new(rapid.Int64Range(1000, 1005).Draw(t, "start"))
			}
			e.Clauses = []clause{{"Memory >= 1", e.SlotsInPool}}
			one.items = append(one.items, e)
		}
		told = append(told, one)
	}
	return told
}

// TestSeveralAddUp: of what several negotiators say each job is told once, by whom that has started it or
// starts it first; no slot is lost, and what the others say of a job that waits is there.
func TestSeveralAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := drawTold(t)
		slots, saying := map[job]int64{}, map[job][]daemon.JobForecast{}
		for _, one := range told {
			for _, e := range one.items {
				slots[jobOf(e.JobForecast)] += e.SlotsInPool
				saying[jobOf(e.JobForecast)] = append(saying[jobOf(e.JobForecast)], e.JobForecast)
			}
		}
		all := mergeExplained(told)
		require.Len(t, all, len(saying))
		for _, e := range all {
			name := jobOf(e.JobForecast)
			require.Equal(t, slots[name], e.SlotsInPool)
			require.Equal(t, []clause{{"Memory >= 1", slots[name]}}, e.Clauses)
			for _, j := range saying[name] {
				require.LessOrEqual(t, sooner(e.JobForecast, j), 0)
			}
			if started(e.JobForecast) {
				require.Empty(t, e.Elsewhere)
			} else {
				require.Len(t, e.Elsewhere, len(saying[name])-1)
			}
		}
		lines := make([]answered[Told], len(told))
		for i, one := range told {
			lines[i].name = one.name
			for _, e := range one.items {
				lines[i].items = append(lines[i].items, e.Told)
			}
		}
		table := mergeTold(lines)
		require.Len(t, table, len(saying))
		for i := range table[1:] {
			require.LessOrEqual(t, sooner(table[i].JobForecast, table[i+1].JobForecast), 0, "by expected start")
		}
	})
}

// TestOneAloneSaysWhatItSays: what a negotiator alone tells is neither changed nor put into another order.
func TestOneAloneSaysWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := drawTold(t)[0]
		one.name = ""
		require.Equal(t, one.items, mergeExplained([]answered[Explained]{one}))
	})
}

// TestWhoStartsFirst: a job that several negotiators plan is told with what each would do, and one that only one
// of them can run by that one.
func TestWhoStartsFirst(t *testing.T) {
	at := func(seconds int64) *int64 { return new(1_700_000_000 + seconds) }
	planned := func(name string, start *int64, situation, reason string) Explained {
		e := Explained{SlotsInPool: 4, SlotsMatching: 4}
		e.Job, e.Schedd, e.Start, e.Situation, e.Reason = name, "s", start, situation, reason
		return e
	}
	all := mergeExplained([]answered[Explained]{
		{"east@h", []Explained{
			planned("1.0", at(60), "reserved", "reserved"), planned("2.0", nil, "held", "cannot run in this pool: no"),
			planned("3.0", at(0), "runs", "runs"),
		}},
		{"west@h", []Explained{
			planned("1.0", at(30), "reserved", "reserved"), planned("2.0", at(90), "reserved", "reserved"),
			{Told: Told{JobForecast: daemon.JobForecast{Job: "3.0", Situation: "waits", Reason: "is new"}}},
		}},
	})
	require.Len(t, all, 3)
	text := Explanation("1.0", all[:1])
	require.Contains(t, text, "told by          west\n")
	require.Contains(t, text, "elsewhere        east would start it at "+moment(at(60), time.Local))
	require.Contains(t, text, "8 in the pool, 8 match")
	require.Contains(t, Explanation("2.0", all[1:2]), "elsewhere        east: cannot run on its slots: no\n")
	require.NotContains(t, Explanation("3.0", all[2:]), "elsewhere")
	var lines []Told
	for _, e := range all {
		lines = append(lines, e.Told)
	}
	require.Regexp(t, ` job .* on    slots  reason\n 1\.0 .* west .*; east would start it at `, StartTimes(lines, 0))
}

// TestWhoDoesNotAnswer: one of several that does not answer is named beside what the others say; one without slots of
// its own is the predecessor of whoever answers, and is not missed.
func TestWhoDoesNotAnswer(t *testing.T) {
	who := func(name, address string, apart bool) asked {
		a, err := cedar.ParseAddress("<" + address + ":1>")
		require.NoError(t, err)
		return asked{client.Negotiator{Address: a}, name, apart, nil}
	}
	const dead = "127.0.0.9"
	ask := func(all ...asked) (told []answered[int], partial, err error) {
		return askEach(t.Context(), all, func(_ context.Context, n client.Negotiator) ([]int, error) {
			if n.Address.Host == dead {
				return nil, errors.New("connection refused")
			}
			return []int{7}, nil
		})
	}
	told, partial, err := ask(who("east@h", "127.0.0.1", true), who("west@h", dead, true))
	require.NoError(t, err)
	require.Equal(t, []answered[int]{{"east@h", []int{7}}}, told)
	require.ErrorContains(t, partial, "what west@h would say is missing: connection refused; its ad outlives it")
	told, partial, err = ask(who("new@h", "127.0.0.1", false), who("old@h", dead, false))
	require.NoError(t, cmp.Or(partial, err))
	require.Equal(t, []answered[int]{{"", []int{7}}}, told, "as of one alone")
	told, partial, err = ask(who("east@h", "127.0.0.1", true), who("old@h", dead, false), who("west@h", "127.0.0.2", true))
	require.NoError(t, cmp.Or(partial, err))
	require.Len(t, told, 2)
	_, _, err = ask(who("east@h", dead, true), who("west@h", dead, true))
	require.ErrorContains(t, err, "connection refused")
	_, _, err = ask(who("alone@h", dead, false))
	require.ErrorContains(t, err, "it may be down")

	ad, err := classad.ParseOld("Name = \"west@h\"\nMyAddress = \"nowhere\"\nBackfillSlotConstraint = \"x\"")
	require.NoError(t, err)
	told, partial, err = ask(who("east@h", "127.0.0.1", true), read(ad, nil))
	require.NoError(t, err)
	require.Len(t, told, 1)
	require.ErrorContains(t, partial, "what west@h would say is missing: the address of the negotiator west@h: ")
	_, _, err = ask(read(ad, nil))
	require.ErrorContains(t, err, "the address of the negotiator west@h: ")
}

// TestWhatIfOfSeveral: a job is answered for by who would start it first, and anything else by each that it
// concerns; it is bad only if nobody can answer it.
func TestWhatIfOfSeveral(t *testing.T) {
	job := func(start int64) Answer {
		return Answer{Answer: &whatif.Answer{Now: 1000, Job: &whatif.JobAnswer{
			Chunks: 1, Request: map[string]int64{"cpus": 1}, Seconds: 60, Start: &start, ToldBy: whatif.ByPlan,
		}}}
	}
	clock := instant.OfPool(time.UTC)
	a := mergeAnswers([]answered[Answer]{{"east@h", []Answer{job(1300)}}, {"west@h", []Answer{job(1200)}}})
	require.Equal(t, "west@h", a.Negotiator)
	text := a.Describe(clock)
	require.True(t, strings.HasPrefix(text, "On the slots of west:\n"), text)
	require.Contains(t, text, "On those of east it would start ")
	require.NotContains(t, text, "is in the answer of each")

	bad := Answer{Bad: "there is no slot or machine n1"}
	change := Answer{Answer: &whatif.Answer{Change: &whatif.ChangeAnswer{}}}
	a = mergeAnswers([]answered[Answer]{{"east@h", []Answer{bad}}, {"west@h", []Answer{change}}})
	require.Contains(t, a.Describe(clock), "east cannot tell: there is no slot or machine n1.")
	a = mergeAnswers([]answered[Answer]{{"east@h", []Answer{change}}, {"west@h", []Answer{change}}})
	require.Contains(t, a.Describe(clock), "A job that several negotiators plan is in the answer of each.")
	require.Equal(t, bad.Bad, mergeAnswers([]answered[Answer]{{"e", []Answer{bad}}, {"w", []Answer{bad}}}).Bad)
}
