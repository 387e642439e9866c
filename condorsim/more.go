package condorsim

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// More says of what kind slots are that a pool has besides its own.
type More struct {
	Like   string // the name of the slot that they are like
	Static bool   // each of them runs one job at a time
	// Accepted counts the jobs that such a slot and its job agree on, by their ads as they are, of Jobs.
	Accepted, Jobs int
}

// More describes the slots that a text of [pools.Change.With] adds to the pool of the workload.
func (w *Workload) More(pool *pools.Description, text string) (More, error) {
	added, like, err := pool.Added(text)
	if err != nil {
		return More{}, err
	}
	m := More{Like: like.Name, Static: negotiator.IsStatic(like.Ad), Jobs: len(w.Jobs)}
	agreed := map[*classad.ClassAd]bool{}
	for _, j := range w.Jobs {
		agree, known := agreed[j.Ad]
		if !known {
			agree = classad.Match(j.Ad, added.Ad)
			agreed[j.Ad] = agree
		}
		if agree {
			m.Accepted++
		}
	}
	return m, nil
}

// Doubtful reports whether the slots may not be what was meant.
func (m More) Doubtful() bool { return m.Static || m.Accepted == 0 && m.Jobs > 0 }

// String describes them.
func (m More) String() string {
	text := "further slots are like " + m.Like + " but for the amounts"
	if m.Static {
		text += ", which is static: each runs one job at a time, whatever that asks for"
	}
	if m.Accepted < m.Jobs {
		text += fmt.Sprintf("; %s of %s jobs can run there, by their Requirements and those of that slot",
			inwords.Whole(m.Accepted), inwords.Whole(m.Jobs))
	}
	if m.Doubtful() {
		text += "; another slot is named by like=NAME"
	}
	return text
}
