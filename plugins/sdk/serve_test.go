package sdk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/stats"
)

// TestEndWithHost checks that no plugin outlives its host, whether that is killed before or after
// it connects.
func TestEndWithHost(t *testing.T) {
	for name, c := range map[string]struct {
		connects, leaves bool
		want             []int
	}{
		"no host ever connects": {want: []int{1}},
		"a host stays":          {connects: true},
		"a host leaves":         {connects: true, leaves: true, want: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var exits []int
				life := newEndWithHost(patience, func(code int) { exits = append(exits, code) })
				time.Sleep(patience - time.Second) //nolint:forbidigo // the clock is the test's own
				if c.connects {
					life.HandleConn(t.Context(), &stats.ConnBegin{})
				}
				time.Sleep(patience) //nolint:forbidigo // the same
				if c.leaves {
					life.HandleConn(t.Context(), &stats.ConnEnd{})
				}
				synctest.Wait()
				require.Equal(t, c.want, exits)
			})
		})
	}
}
