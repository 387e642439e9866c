package picture

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// TestJSONIsThatOfTheLibrary compares what is written with what package encoding/json writes.
func TestJSONIsThatOfTheLibrary(t *testing.T) {
	moment := rapid.Custom(func(t *rapid.T) Moment {
		known := rapid.Bool().Draw(t, "known")
		if !known {
			return Moment{}
		}
		return Moment{rapid.Int64().Draw(t, "at"), true}
	})
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "1.0", "<b>&", `"\`, "\u2028", "\xff", "ann@x"}))
	bar := rapid.Custom(func(t *rapid.T) Bar {
		b := Bar{
			ID: backfill.JobID(rapid.Int64().Draw(t, "id")), Name: text.Draw(t, "name"), Owner: text.Draw(t, "owner"),
			Group: text.Draw(t, "group"), Situation: text.Draw(t, "situation"), Cpus: rapid.Int64().Draw(t, "cpus"),
			Submit: rapid.Int64().Draw(t, "submit"), Start: moment.Draw(t, "start"), End: moment.Draw(t, "end"),
			Likely: moment.Draw(t, "likely"), Reserved: moment.Draw(t, "reserved"), Low: moment.Draw(t, "low"),
			High: moment.Draw(t, "high"), Guarantee: moment.Draw(t, "guarantee"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "pieces") {
			b.At = append(b.At, Piece{backfill.SlotID(rapid.Int32().Draw(t, "slot")), rapid.Int64().Draw(t, "cpus")})
		}
		return b
	})
	slot := rapid.Custom(func(t *rapid.T) Slot {
		s := Slot{
			ID: backfill.SlotID(rapid.Int32().Draw(t, "id")), Name: text.Draw(t, "name"), Machine: text.Draw(t, "machine"),
			Capacity: rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "capacity"), Down: rapid.Bool().Draw(t, "down"), End: moment.Draw(t, "end"),
		}
		if rapid.Bool().Draw(t, "drained") {
			s.Drain = &Drain{From: rapid.Int64().Draw(t, "from"), Until: moment.Draw(t, "until"), Why: text.Draw(t, "why")}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		d := Difference{
			Head:  Head{Pool: text.Draw(t, "pool"), Clocks: []instant.Stretch{}, Problems: []string{text.Draw(t, "problem")}},
			Slots: rapid.SliceOfN(slot, 0, 3).Draw(t, "slots"), Jobs: rapid.SliceOfN(bar, 0, 3).Draw(t, "jobs"),
			SlotsGone: ids[backfill.SlotID](t, "slots gone"),
			JobsGone:  ids[backfill.JobID](t, "jobs gone"),
		}
		want, err := json.Marshal(d)
		require.NoError(t, err)
		got, err := d.AppendJSON([]byte("{"))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got)+"}")

		p := Picture{Head: d.Head, Slots: d.Slots}
		for _, b := range d.Jobs {
			p.Jobs = append(p.Jobs, Job{Bar: b})
		}
		want, err = json.Marshal(struct {
			Head  Head   `json:"head"`
			Slots []Slot `json:"slots"`
			Jobs  []Bar  `json:"jobs"`
		}{p.Head, append([]Slot{}, p.Slots...), p.Bars()})
		require.NoError(t, err)
		got, err = p.AppendJSON([]byte("{"))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got)+"}")
	})
}

func ids[T ~int32 | ~int64](t *rapid.T, label string) (all []T) {
	for _, n := range rapid.SliceOfN(rapid.Int32(), 0, 2).Draw(t, label) {
		all = append(all, T(n))
	}
	return all
}
