package security

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// A server accepts only a directory that belongs to the client, has mode 0700, and whose name ends
// in the address that the client dialled. Older clients append nothing.
func TestDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		make   func(name string) error
		status int64
		suffix string
		good   bool
	}{
		"old client":    {make: func(name string) error { return os.Mkdir(name, 0o700) }, good: true},
		"new client":    {make: func(name string) error { return os.Mkdir(name, 0o700) }, suffix: "=", good: true},
		"other address": {make: func(name string) error { return os.Mkdir(name, 0o700) }, suffix: "10.0.0.1:9618"},
		"climbs":        {make: func(name string) error { return os.Mkdir(name, 0o700) }, suffix: "/../x"},
		"nothing made":  {make: func(string) error { return nil }},
		"says so":       {make: func(string) error { return nil }, status: -1},
		"a file":        {make: func(name string) error { return os.WriteFile(name, nil, 0o700) }},
		"open to all":   {make: func(name string) error { return os.Mkdir(name, 0o755) }},
		"a link": {make: func(name string) error {
			return os.Symlink(filepath.Dir(name), name)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := connected(t)
			guard := &Server{Directory: t.TempDir(), Domain: "d", UserOf: func(int) (string, error) {
				return "me", nil
			}}
			said := make(chan error, 1)
			user := ""
			go func() {
				var wrong error
				user, wrong = guard.checkFS(server)
				said <- wrong
			}()
			wanted, err := client.Text()
			require.NoError(t, err)
			require.NoError(t, client.End())
			require.Regexp(t, `/FS_127\.0\.0\.1_\d+_[0-9a-f]{18}_$`, wanted)
			suffix := c.suffix
			if suffix == "=" {
				suffix = dialled(client)
			}
			if c.suffix != "/../x" {
				require.NoError(t, c.make(wanted+suffix))
			}
			client.PutInt(c.status)
			if suffix != "" {
				client.PutString(suffix)
			}
			require.NoError(t, client.Send())
			verdict, err := client.Int()
			require.NoError(t, err)
			wrong := <-said
			require.Equal(t, c.good, wrong == nil, "%v", wrong)
			require.Equal(t, c.good, verdict == 0)
			if c.good {
				require.Equal(t, "me@d", user)
			}
		})
	}
}

// connected returns the two ends of a connection. They are closed when the test ends.
func connected(t *testing.T) (client, server *cedar.Stream) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	here, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	there, err := listener.Accept()
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	client, server = cedar.NewStream(here, 10*time.Second), cedar.NewStream(there, 10*time.Second)
	t.Cleanup(client.Close)
	t.Cleanup(server.Close)
	return client, server
}

// dialled is the address that a client has dialled.
func dialled(client *cedar.Stream) string {
	_, remote := client.Addresses()
	return remote.String()
}

// The client appends the address that it dialled to a name that asks for it, and nothing else: the
// servers of 24.0.23 to 25.13 take no other form, not even behind a shared port.
func TestDirectoryBehindASharedPort(t *testing.T) {
	client, server := connected(t)

	made := ""
	c := &Client{makeDirectory: func(name string, _ *Owner) error { made = name; return nil }}
	done := make(chan error, 1)
	go func() { done <- c.prove(client, FS, nil) }()
	server.PutString("/tmp/FS_10.0.0.1_9618_abc_")
	require.NoError(t, server.Send())
	status, suffix, err := readMade(server)
	require.NoError(t, err)
	require.Zero(t, status)
	require.Equal(t, dialled(client), suffix)
	server.PutInt(0)
	require.NoError(t, server.Send())
	require.NoError(t, <-done)
	require.Equal(t, "/tmp/FS_10.0.0.1_9618_abc_"+suffix, made)
}
