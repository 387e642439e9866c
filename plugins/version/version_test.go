package version

import (
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	program := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("program")), nil }
	gone := func() (io.ReadCloser, error) { return nil, errors.New("no such file") }
	for _, c := range []struct {
		name, version, modified string
		vcs                     bool
		self                    func() (io.ReadCloser, error)
		id, commit, date        string
	}{
		{"a release", "v1.2.0", "false", true, gone, "v1.2.0", revision, "2026-01-02T03:04:05Z"},
		{
			"changes", "v1.2.0+dirty", "true", true, program, "binary sha256:1310ca2c8932",
			revision + " (with changes that were not committed)", "2026-01-02T03:04:05Z",
		},
		{
			"no version control", "(devel)", "", false, program, "binary sha256:1310ca2c8932",
			"unknown commit (built without version control)", "unknown",
		},
		{
			"unreadable", "(devel)", "", false, gone,
			"unknown version (read this program, to know its version: no such file)",
			"unknown commit (built without version control)", "unknown",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: c.version}}
			info.Settings = []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}}
			if c.vcs {
				info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: revision},
					debug.BuildSetting{Key: "vcs.time", Value: c.date},
					debug.BuildSetting{Key: "vcs.modified", Value: c.modified})
			}
			want := "prog " + c.id + "\n  commit   " + c.commit + "\n  date     " + c.date +
				"\n  go       go1.26.0 linux/arm64\n"
			require.Equal(t, want, text("prog", "", info, c.self))
			require.Equal(t, want+"  plugins  policyv1\n", text("prog", "policyv1", info, c.self))
		})
	}
	require.Contains(t, text("prog", "", nil, program), "unknown commit")
}

// TestID requires that this program, which has no version, is told from others by its file.
func TestID(t *testing.T) {
	id, err := ID()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(Text("prog", ""), "prog "+id+"\n"))
	other, err := ID()
	require.NoError(t, err)
	require.Equal(t, id, other)
}
