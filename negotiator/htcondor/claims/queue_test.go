package claims

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestCompany: what waits beside a job is the same as if it were compared with all that wait.
func TestCompany(t *testing.T) {
	d := newDesk(t, "a")
	rapid.Check(t, func(r *rapid.T) {
		q := &queue{waiting: map[*observe.Spec]*waiting{}}
		d.distrusted = map[string]bool{"": rapid.Bool().Draw(r, "distrusted")}
		var asked []*observe.Spec
		few := rapid.IntRange(0, 2)
		for range rapid.IntRange(1, 12).Draw(r, "specs") {
			s := short(t, func(s *observe.Spec) {
				s.Ad.SetString(observe.ScheddAttribute, rapid.SampledFrom([]string{"s", "another"}).Draw(r, "schedd"))
				s.Estimate = backfill.Time(few.Draw(r, "estimate"))
				s.Request = backfill.Vector{int64(few.Draw(r, "cpus")), int64(few.Draw(r, "memory")), 1}
				s.Parallel = few.Draw(r, "parallel") == 2
				s.Limits = rapid.SampledFrom([]string{"", "", "sw"}).Draw(r, "limits")
				if few.Draw(r, "wrong") == 2 {
					s.Wrong, s.Request = errors.New("wrong"), nil
				}
			})
			if borrows(s) {
				asked = append(asked, s)
			}
			if few.Draw(r, "waits") == 0 {
				continue
			}
			w := &waiting{barred: rapid.Bool().Draw(r, "barred"), deferred: rapid.Bool().Draw(r, "deferred")}
			if w.jobs = few.Draw(r, "jobs"); w.jobs > 0 {
				w.open, w.able = min(w.jobs, few.Draw(r, "open")), min(w.jobs, few.Draw(r, "able"))
			}
			w.least = int64(few.Draw(r, "least"))
			w.most = w.least + int64(few.Draw(r, "more"))
			q.waiting[s] = w
		}
		d.lineUp(q)
		for _, spec := range append(asked, asked...) { // and once more: some of it is remembered
			got, want := d.company(q, spec), company{alone: true, parts: &parts{}}
			for s, w := range q.waiting {
				if alike(spec, s) {
					if like := &want.like; w.jobs > 0 && like.jobs == 0 {
						like.jobs, like.least, like.most = w.jobs, w.least, w.most
					} else if w.jobs > 0 {
						like.jobs, like.least, like.most = like.jobs+w.jobs, min(like.least, w.least), max(like.most, w.most)
					}
					want.alone = want.alone && !w.barred
				} else {
					want.others = want.others || w.open > 0
					want.alone = want.alone && w.able == 0
				}
				if !sameQueue(spec, s) || s.Parallel {
					continue
				}
				takes := takers{d.estimate(s), !d.borrows(s) || w.deferred}
				want.whole.add(takes)
				less, more := d.compare(s, spec)
				if want.wider = want.wider || more; !more {
					takes.barred = takes.barred || less
					want.part.add(takes)
				}
			}
			require.Equal(t, want.parts, got.parts)
			require.Equal(t, want.whole, got.whole)
			require.Equal(t, []bool{want.others, want.alone}, []bool{got.others, got.alone})
			require.Equal(t, want.like.jobs, got.like.jobs)
			require.Equal(t, []int64{want.like.least, want.like.most}, []int64{got.like.least, got.like.most})
		}
	})
}
