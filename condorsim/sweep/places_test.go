package sweep

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// An executable is found where the other files of a sweep are, and its content is an input.
func TestExecutablesAreFilesOfASweep(t *testing.T) {
	dir := folder(t, 20)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	write(t, dir, "bin/mine", "one")
	const text = "name: x\ntraces: [{name: a, file: a.swf}]\nschedulers: [{label: mine, policy: ./bin/mine}]\n"
	f, err := Parse("sweep.yaml", []byte(text))
	require.NoError(t, err)
	prepare := func(dirs ...string) (*Sweep, string, error) {
		asked := ""
		p, prepareErr := Prepare(t.Context(), f, Settings{
			Places: Places{Dirs: dirs, BuiltIn: fstest.MapFS{"a.swf": {}, "bin/mine": {}}},
			Policies: func(ctx context.Context, policy string, o map[string]string, r []string) (Deciders, error) {
				asked = policy
				return linked(ctx, "easy", o, r)
			},
		})
		return p, asked, prepareErr
	}
	first, asked, err := prepare(t.TempDir(), dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "bin/mine"), asked)
	require.Equal(t, "./bin/mine", first.Manifest.Cells[0].Policy, "results do not depend on where it lies")
	write(t, dir, "bin/mine", "two")
	second, _, err := prepare(dir)
	require.NoError(t, err)
	require.NotEqual(t, first.Manifest.Cells[0].Inputs, second.Manifest.Cells[0].Inputs)

	t.Chdir(filepath.Join(dir, "bin"))
	path, err := Places{Dirs: []string{"."}}.executable("./mine")
	require.NoError(t, err)
	require.Equal(t, "./mine", path, "it is no policy's name")

	none := t.TempDir()
	_, _, err = prepare(none)
	require.ErrorContains(t, err, "sweep.yaml: [3:36] ./bin/mine is not there; looked in "+none,
		"nothing that is built in can be started")
}

// A built-in trace is known by its path and by its name, and a file comes before it.
func TestBuiltInTraces(t *testing.T) {
	dir := t.TempDir()
	p := Places{
		Dirs: []string{dir}, BuiltIn: fstest.MapFS{"workloads/model.swf": {Data: []byte("; MaxProcs: 4\n")}},
		TracePath: func(name string) string { return "workloads/" + name + ".swf" },
	}
	for _, name := range []string{"model", "workloads/model.swf"} {
		file, found := p.find(name)
		require.True(t, found, name)
		require.Equal(t, located{name: name, path: "workloads/model.swf", within: p.BuiltIn}, file)
	}
	for _, name := range []string{"other", "../workloads/model", "model.swf", "workloads"} {
		_, found := p.find(name)
		require.False(t, found, name)
	}
	write(t, dir, "model", "")
	file, found := p.find("model")
	require.True(t, found)
	require.Equal(t, fs.FS(nil), file.within)
}
