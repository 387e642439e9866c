package drains

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

var slots = []string{"slot1@n1@pool.test", "slot1@node7.site", "slot2@node7.site"}

func request(deadline int64, names ...string) Request { return Request{Slots: names, By: deadline} }

// TestNamesOfSlotsAndMachines: a slot's own name, its machine's with and without the domain, and that
// of a startd which plays a machine.
func TestNamesOfSlotsAndMachines(t *testing.T) {
	for name, want := range map[string][]string{
		"slot1@node7.site": {"slot1@node7.site"},
		"node7.site":       {"slot1@node7.site", "slot2@node7.site"},
		"node7":            {"slot1@node7.site", "slot2@node7.site"},
		"n1":               {"slot1@n1@pool.test"},
		"n1@pool.test":     {"slot1@n1@pool.test"},
	} {
		book, meant, err := Book{}.Apply(request(100, name, name), slots, "root@site", 40)
		require.NoError(t, err, name)
		require.Equal(t, want, meant, name)
		require.Len(t, book, len(want))
		require.Equal(t, Drain{Slot: want[0], By: 100, AskedBy: "root@site", AskedAt: 40}, book[want[0]])
	}
}

func TestUnknownSlots(t *testing.T) {
	for name, why := range map[string]string{
		"nodde7":           "there is no slot or machine nodde7 in the pool, did you mean node7?",
		"slot1_3@node7":    "no slot or machine slot1_3@node7 in the pool, did you mean",
		"elsewhere.else":   "in the pool; one of its slots is slot1@n1@pool.test",
		"slot3@node7.site": "did you mean slot1@node7.site?",
	} {
		_, _, err := Book{}.Apply(request(100, "node7", name), slots, "", 0)
		require.ErrorContains(t, err, why)
		bad := &BadRequest{}
		require.ErrorAs(t, err, &bad)
	}
	_, _, err := Book{}.Apply(request(100, "n1"), nil, "", 0)
	require.ErrorContains(t, err, "it has no slots")
}

func TestBadRequests(t *testing.T) {
	for text, why := range map[string]string{
		`{`:                                      "cannot be read",
		`{} {}`:                                  "there is more behind it",
		`{"slot": "n1"}`:                         "cannot be read",
		`{"by": 3}`:                              "name the slot",
		`{"slots": [""], "by": 3}`:               "must have from 1 to",
		`{"slots": ["n1"]}`:                      "empty by 0",
		`{"slots": ["n1"], "by": -1}`:            "empty by -1",
		`{"slots": ["n1"], "by": 9, "until": 9}`: "must be later than 9",
		`{"slots": ["n1"], "cancel": true, "by": 9}`:      "leave out by when",
		`{"slots": ["` + strings.Repeat("x", 201) + `"]}`: "must have from 1 to",
		strings.Repeat(" ", longestRequest+1):             "a request of",
	} {
		_, err := Read(text)
		require.ErrorContains(t, err, why, text)
		bad := &BadRequest{}
		require.ErrorAs(t, err, &bad)
	}
	many := make([]string, mostNames+1)
	require.ErrorContains(t, Request{Slots: many, By: 1}.Validate(), "at most 1000")
	_, _, err := Book{}.Apply(Request{Slots: []string{"n1"}, By: 10, Until: 20}, slots, "", 20)
	require.ErrorContains(t, err, "is over")
}

// TestDrainsAreReplacedAndCancelled: books do not change; a second drain of a slot takes the first
// one's place, and a slot that has left the pool can be cancelled.
func TestDrainsAreReplacedAndCancelled(t *testing.T) {
	first, _, err := Book{}.Apply(request(100, "node7"), slots, "a", 40)
	require.NoError(t, err)
	second, _, err := first.Apply(request(30, "slot2@node7.site"), slots, "b", 50)
	require.NoError(t, err)
	require.EqualValues(t, 100, first["slot2@node7.site"].By)
	require.EqualValues(t, 50, second["slot2@node7.site"].By, "what is past is now")
	require.Equal(t, []string{"slot2@node7.site", "slot1@node7.site"}, []string{second.All()[0].Slot, second.All()[1].Slot})

	third, meant, err := second.Apply(Request{Slots: []string{"node7"}, Cancel: true}, nil, "c", 60)
	require.NoError(t, err)
	require.Len(t, meant, 2)
	require.Empty(t, third)
	require.Len(t, second, 2)
	_, _, err = second.Apply(Request{Slots: []string{"n1"}, Cancel: true}, slots, "c", 60)
	require.ErrorContains(t, err, "slot1@n1@pool.test is not drained")
	_, _, err = second.Apply(Request{Slots: []string{"node8"}, Cancel: true}, slots, "c", 60)
	require.ErrorContains(t, err, "did you mean node7?")
}

// TestBooksAreBounded: not more slots than Most can be drained.
func TestBooksAreBounded(t *testing.T) {
	many := make([]string, Most+1)
	for i := range many {
		many[i] = fmt.Sprintf("slot%d@n", i)
	}
	_, _, err := Book{}.Apply(request(9, "n"), many, "", 1)
	require.ErrorContains(t, err, "at most 10000 can be")
	_, _, err = Book{}.Apply(request(9, "n"), many[1:], "", 1)
	require.NoError(t, err)
}

// TestTend: a drain ends when its time is over, or when its slot has been gone for a month.
func TestTend(t *testing.T) {
	book := BookOf([]Drain{{Slot: "a", By: 10, Until: 20}, {Slot: "b", By: 10}})
	there := true
	tend := func(now backfill.Time) (dropped []Drain, changed bool) {
		book, dropped, changed = book.Tend(now, func(string) bool { return there })
		return dropped, changed
	}
	_, changed := tend(19)
	require.False(t, changed)
	dropped, _ := tend(20)
	require.Equal(t, []Drain{{Slot: "a", By: 10, Until: 20}}, dropped)
	there = false
	_, changed = tend(30)
	require.True(t, changed)
	require.EqualValues(t, 30, book["b"].Gone)
	_, changed = tend(30 + forgotten - 1)
	require.False(t, changed)
	there = true
	_, changed = tend(30 + forgotten)
	require.True(t, changed)
	require.Zero(t, book["b"].Gone)
	there = false
	tend(100)
	dropped, _ = tend(100 + forgotten)
	require.Len(t, dropped, 1)
	require.Empty(t, book)
}

func TestWhatADrainSays(t *testing.T) {
	at := time.Date(2026, 5, 31, 14, 0, 0, 0, time.UTC).Unix()
	d := Drain{Slot: "a", By: at + 3600, AskedBy: "root@site", AskedAt: at}
	require.Equal(t, "drained by 15:00 (asked by root@site)", d.Why(time.UTC))
	d.By += 24*3600 + 5
	require.Equal(t, "drained by 2026-06-01 15:00:05 (asked by root@site)", d.Why(time.UTC))
	require.Equal(t, "drained by second 7200", Drain{By: 7200}.Why(nil))
	d = Drain{By: 10, Until: 20}
	for now, want := range map[backfill.Time]bool{9: false, 10: true, 19: true, 20: false} {
		require.Equal(t, want, d.Closes(now), now)
	}
}
