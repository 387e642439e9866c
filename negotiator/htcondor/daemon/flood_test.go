package daemon

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// TestTheLogOutlivesAFlood has strangers refused again and again, who say as much as they may each
// time: what the log had before is still there.
func TestTheLogOutlivesAFlood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := OpenLog(path, Rotation{Size: 1 << 20, Keep: 1}, false)
	require.NoError(t, err)
	log := NewLogger(hclog.Info, file)
	log.Warn("the evidence")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	port := &server.Port{Security: &security.Server{Methods: []security.Method{security.ClaimToBe}}, Logger: log.Named("port")}
	go func() { ended <- port.Serve(ctx, listener) }()
	lie := classad.New()
	lie.SetInt("Command", 60011)
	lie.SetString("Authentication", "x"+strings.Repeat("lie\x1b[2J", 2500))
	const connections = 800
	for range connections {
		conn, failed := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, failed)
		stream := cedar.NewStream(conn, time.Minute)
		stream.PutInt(60010)
		stream.PutAd(lie)
		require.NoError(t, stream.Send())
		_, _ = io.Copy(io.Discard, conn) // until it is hung up
		stream.Close()
	}
	cancel()
	require.NoError(t, <-ended)
	Tell(log)
	require.NoError(t, file.Close())
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	all := string(written)
	require.NoFileExists(t, path+".old")
	require.Contains(t, all, "the evidence")
	require.Equal(t, connections, strings.Count(all, "port: refused")+leftOut(t, all))
	require.NotContains(t, all, "\x1b")
}
