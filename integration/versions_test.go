package integration_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// The README says which versions of the protocol hosts speak. Who takes one out must look there, where it is
// promised for how long.
func TestHostsSpeakTheVersionsThatWerePromised(t *testing.T) {
	text, err := os.ReadFile("../plugins/README.md")
	require.NoError(t, err)
	spoken := strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(wire.Versions(nil)))), "[]")
	require.Contains(t, string(text), "**Hosts speak version "+spoken+".**")
}

// A plugin starts for a host that speaks none of its versions, and says which one it speaks. The host then says
// what is wrong, and not only that the plugin ended.
func TestAPluginTellsANewerHostItsVersion(t *testing.T) {
	for hosts, want := range map[string]string{"9": "1|1|unix|", "1,9": "1|1|unix|", "": "1|1|unix|"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(pluginDir(), "backfill-easy"))
		handshake := wire.Handshake()
		cmd.Env = append(os.Environ(), handshake.MagicCookieKey+"="+handshake.MagicCookieValue,
			"PLUGIN_PROTOCOL_VERSIONS="+hosts, "PLUGIN_UNIX_SOCKET_DIR="+t.TempDir())
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(line, want), "for a host of %q: %s", hosts, line)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
}
