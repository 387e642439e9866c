package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files of --cpuprofile and --memprofile are whole, also if the command was abandoned: one that is
// cut off has no gzip checksum.
func TestPprofFiles(t *testing.T) {
	for name, interrupted := range map[string]bool{"done": false, "abandoned": true} {
		t.Run(name, func(t *testing.T) {
			trace, want := "small.swf", 0
			if interrupted {
				trace, want = "pipe", 130
			}
			cmd, _, stderr := launched(t, "--workload", trace, "--cpuprofile", "cpu", "--memprofile", "memory")
			require.NoError(t, syscall.Mkfifo(filepath.Join(cmd.Dir, "pipe"), 0o600))
			require.NoError(t, cmd.Start())
			if interrupted {
				pipe, err := os.OpenFile(filepath.Join(cmd.Dir, "pipe"), os.O_WRONLY, 0) // opens once it is read
				require.NoError(t, err)
				defer pipe.Close()                                                  //nolint:errcheck // a test's
				for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} { // at the second it is abandoned
					require.NoError(t, cmd.Process.Signal(signal))
				}
			}
			require.Equal(t, want, code(t, cmd.Wait()), "%s", stderr)
			for _, file := range []string{"cpu", "memory"} {
				packed, err := os.Open(filepath.Join(cmd.Dir, file))
				require.NoError(t, err)
				defer packed.Close() //nolint:errcheck // a test's
				content, err := gzip.NewReader(packed)
				require.NoError(t, err, file)
				_, err = io.Copy(io.Discard, content)
				require.NoError(t, err, file)
			}
		})
	}
}
