package livepage

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// FitOf counts slots by what they are to a job.
func FitOf(f matchmaker.Fit) *Fit {
	all := &Fit{Slots: int64(f.Slots), Matching: int64(f.Matching), Refusing: int64(f.Refusing)}
	for _, c := range f.Closed {
		all.Closed = append(all.Closed, Count{c.Why, int64(c.Slots)})
	}
	for _, c := range f.Clauses {
		if unmet := f.Slots - c.Met; unmet > 0 {
			all.Clauses = append(all.Clauses, Count{c.Text, int64(unmet)})
		}
	}
	for _, r := range f.Refusals {
		all.Refusals = append(all.Refusals, Count{r.String(), int64(r.Slots)})
	}
	return all
}

// mostWindows bounds the start windows that are told of a job.
const mostWindows = 2000

// WindowsOf lists when a job may start on slots that are not always open to it; none: they all are.
func WindowsOf(s *backfill.State, job *backfill.Job) (all []Window) {
	c := s.CandidateSets()[job.Candidates]
	if c == nil || c.Windows == nil {
		return nil
	}
	for i, slot := range c.Slots {
		for _, w := range c.Windows[i] {
			if w.To < s.Now() || len(all) >= mostWindows {
				continue
			}
			all = append(all, Window{Slot: int64(slot), From: max(int64(w.From), int64(s.Now())), Until: picture.At(w.To)})
		}
	}
	return all
}

// SharesOf returns what users deserve, of the ads of an accounting: by the name before the @, behind that of
// their group.
func SharesOf(ads []*classad.ClassAd) map[string]Share {
	all := map[string]Share{}
	for _, ad := range ads {
		name, _ := ad.Text("Name")
		user, _, isUser := strings.Cut(name, "@")
		if !isUser {
			continue
		}
		user = user[strings.LastIndexByte(user, '.')+1:]
		share := all[user]
		priority, _ := ad.Real("Priority")
		limit, _ := ad.Real("SubmitterLimit")
		share.Priority, share.Deserved = priority, share.Deserved+limit
		all[user] = share
	}
	return all
}
