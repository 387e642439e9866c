package livepage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/meter/shapes"
)

// TestQueueEnds checks that the queue ends when the last bar in the chart of those who wait does, not when
// the time that they request is over.
func TestQueueEnds(t *testing.T) {
	p := scene(5, 3)
	p.Jobs[0].End, p.Jobs[1].End = picture.At(300), picture.At(250)
	p.Counts = func() shapes.Counts { return shapes.Counts{QueueEnd: 705} }
	var a poolAnswer
	a.count(p)
	require.Equal(t, picture.At(300), a.QueueEnds)
}
