package rehearsal

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// told is a picture as viewers get it.
type told struct {
	Epoch   string         `json:"epoch"`
	Version int            `json:"version"`
	Head    picture.Head   `json:"head"`
	Slots   []picture.Slot `json:"slots"`
	Jobs    []picture.Bar  `json:"jobs"`
}

// viewer has a picture, and applies what changes to it.
type viewer struct {
	version int
	slots   map[backfill.SlotID]picture.Slot
	jobs    map[backfill.JobID]picture.Bar
}

func newViewer(whole told) *viewer {
	v := &viewer{whole.Version, map[backfill.SlotID]picture.Slot{}, map[backfill.JobID]picture.Bar{}}
	for _, s := range whole.Slots {
		v.slots[s.ID] = s
	}
	for _, j := range whole.Jobs {
		v.jobs[j.ID] = j
	}
	return v
}

// apply applies the next difference.
func (v *viewer) apply(t *testing.T, text string) {
	t.Helper()
	var d struct {
		Version int `json:"version"`
		picture.Difference
	}
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	require.Equal(t, v.version+1, d.Version)
	v.version = d.Version
	for _, id := range d.SlotsGone {
		delete(v.slots, id)
	}
	for _, s := range d.Slots {
		v.slots[s.ID] = s
	}
	for _, id := range d.JobsGone {
		delete(v.jobs, id)
	}
	for _, j := range d.Jobs {
		v.jobs[j.ID] = j
	}
}

// TestFollowing follows a simulation over HTTP to its end: each difference follows the one before it, never
// are more cpus of a slot drawn than there are, and in the end the viewer has what the picture has.
func TestFollowing(t *testing.T) {
	var events []string
	var v *viewer
	var following sync.WaitGroup
	p, _ := shown(t, "slack", func(p *Rehearsal, _ backfill.Time) {
		time.Sleep(3 * time.Millisecond) // what is shown is made meanwhile
		var whole told
		if v != nil || get(t, p, "GET", "/api/v1/picture", "", &whole) != http.StatusOK {
			return
		}
		v = newViewer(whole)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/api/v1/events", nil)
		require.NoError(t, err)
		r.Header.Set("Last-Event-ID", whole.Epoch+"."+jsonOf(t, whole.Version))
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		following.Go(func() {
			defer reply.Body.Close() //nolint:errcheck // it is read
			lines := bufio.NewScanner(reply.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				if text, data := strings.CutPrefix(lines.Text(), "data: "); data {
					events = append(events, text)
					if strings.Contains(text, `"over":true`) {
						return
					}
				}
			}
		})
	})
	following.Wait()
	require.Greater(t, len(events), 20)
	for _, text := range events {
		v.apply(t, text)
		v.fits(t)
	}
	var whole told
	require.Equal(t, http.StatusOK, get(t, p, "GET", "/api/v1/picture", "", &whole))
	require.True(t, whole.Head.Over)
	require.Equal(t, newViewer(whole), v)
}

// fits checks that the jobs in the picture are in nobody's way.
func (v *viewer) fits(t *testing.T) {
	t.Helper()
	for _, at := range v.jobs {
		used := map[backfill.SlotID]int64{}
		for _, other := range v.jobs {
			if other.Start.At <= at.Start.At && at.Start.At < other.End.At {
				for _, piece := range other.At {
					used[piece.Slot] += piece.Cpus
				}
			}
		}
		for id, cpus := range used {
			require.LessOrEqual(t, cpus, v.slots[id].Capacity[0], "version %d, slot %d at %d", v.version, id, at.Start.At)
		}
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
