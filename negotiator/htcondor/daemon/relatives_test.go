package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// TestRelatives: the family's session is used for addresses that our own daemons wrote down, or that
// the configuration names, and for no other of this machine.
func TestRelatives(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text+"\n$CondorVersion: 23.9.6 $\n"), 0o644))
		return path
	}
	schedd := write("schedd", "<127.0.0.1:9618?addrs=127.0.0.1-9618&noUDP&sock=schedd_1>")
	write("startd", "<[::1]:7001>")
	write("hidden", "<127.0.0.1:7006?CCBID=10.0.0.1:9618#7&PrivNet=home>")
	write("own", "<127.0.0.1:7002>")
	write("link-to", "<127.0.0.1:7003>")
	require.NoError(t, os.Symlink(filepath.Join(folder, "link-to"), filepath.Join(folder, "link")))
	write("everybody", "<127.0.0.1:7004>")
	require.NoError(t, os.Chmod(filepath.Join(folder, "everybody"), 0o666))
	open := filepath.Join(folder, "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	write("open/schedd", "<127.0.0.1:7005>")
	require.NoError(t, os.Chmod(open, 0o777|os.ModeSticky))
	text := []string{"COLLECTOR_HOST = 127.0.0.1:9618"}
	for knob, name := range map[string]string{
		"SCHEDD": "schedd", "n1.STARTD": "startd", "NEGOTIATOR": "own", "A": "link", "B": "everybody", "C": "open/schedd",
		"D": "nothing", "E": "hidden",
	} {
		text = append(text, knob+"_ADDRESS_FILE = "+filepath.Join(folder, name))
	}
	parent := cedar.Address{Host: "10.0.0.1", Port: 9618, Sock: "master_1"}
	s := &Site{Config: condorconfig.Parse(strings.Join(text, "\n"), ""), Inherited: Inheritance{Address: parent}}
	r := s.relatives()
	has := func(address string) bool {
		a, err := cedar.ParseAddress(address)
		require.NoError(t, err)
		return r.has(a)
	}
	for address, want := range map[string]bool{
		"<127.0.0.1:9618>":                                                true, // the collector
		"<127.0.0.1:9618?sock=schedd_1>":                                  true,
		"<[::ffff:127.0.0.1]:9618?sock=schedd_1&alias=x>":                 true,
		"<[0:0:0:0:0:0:0:1]:7001>":                                        true,
		"<10.0.0.1:9618?sock=master_1>":                                   true,
		"<127.0.0.1:9618?sock=schedd_2>":                                  false,
		"<127.0.0.1:7006?CCBID=10.0.0.1:9618%237&PrivNet=home>":           true,
		"<127.0.0.1:7006?CCBID=10.0.0.2:9618%237&PrivNet=home>":           false, // another's broker would have it
		"<127.0.0.1:7006?CCBID=10.0.0.1:9618%238&PrivNet=home>":           false,
		"<127.0.0.1:9618?CCBID=10.0.0.2:9618%237&sock=schedd_1>":          false,
		"<127.0.0.1:9618?PrivAddr=10.0.0.2:1&PrivNet=home&sock=schedd_1>": false,
		"<127.0.0.1:5000>":                                                false,
		"<127.0.0.1:7002>":                                                false, // our own, of before
		"<127.0.0.1:7003>":                                                false, // a symbolic link
		"<127.0.0.1:7004>":                                                false, // written by anybody
		"<127.0.0.1:7005>":                                                false, // made by anybody
		"<10.0.0.1:9618>":                                                 false,
	} {
		require.Equal(t, want, has(address), address)
	}
	// A daemon that starts again writes another address.
	write("schedd", "<127.0.0.1:9618?sock=schedd_22>")
	require.True(t, has("<127.0.0.1:9618?sock=schedd_22>"))
	require.False(t, has("<127.0.0.1:9618?sock=schedd_1>"))
	require.NoError(t, os.Remove(schedd))
	require.False(t, has("<127.0.0.1:9618?sock=schedd_22>"))
	require.NoError(t, os.WriteFile(schedd, []byte("<127.0.0.1:9618?sock=half"), 0o644))
	require.False(t, has("<127.0.0.1:9618?sock=half"+">"), "it is being written")
	if os.Getuid() == 0 {
		write("startd", "<[::1]:7006>")
		require.NoError(t, os.Chown(filepath.Join(folder, "startd"), 12345, 12345))
		require.False(t, has("<[::1]:7006>"), "of another user")
	}
}

func BenchmarkRelatives(b *testing.B) {
	folder := b.TempDir()
	text := []string{"COLLECTOR_HOST = 127.0.0.1:9618"}
	for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
		path := filepath.Join(folder, name)
		require.NoError(b, os.WriteFile(path, []byte("<127.0.0.1:1>\n"), 0o644))
		text = append(text, name+"_ADDRESS_FILE = "+path)
	}
	r := (&Site{Config: condorconfig.Parse(strings.Join(text, "\n"), "")}).relatives()
	for b.Loop() {
		r.has(cedar.Address{Host: "127.0.0.1", Port: 2})
	}
}
