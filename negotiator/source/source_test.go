package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// flags are those of a command line.
type flags struct {
	order string
	dirs  []string
}

func (f flags) Over(s *config.Config) {
	s.Order, s.Plugins.Dirs, s.Plugins.InProcess = f.order, append(f.dirs, s.Plugins.Dirs...), true
}

func (f flags) Given(key string) bool { return key == "order" }

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(path, []byte("policy: easy\norder: sjf\nplugins: {dirs: [b]}\n"), 0o600))
	s, err := (&Settings{File: path, Flags: flags{"ljf", []string{"a"}}}).Read()
	require.NoError(t, err)
	require.Equal(t, []string{"easy", "ljf", "rank"}, []string{s.Policy, s.Order, s.Placement}, "flag, file, default")
	require.Equal(t, []string{"a", "b"}, s.Plugins.Dirs)
	require.True(t, s.Plugins.InProcess)
	_, err = (&Settings{Flags: flags{order: "tallest"}}).Read()
	require.ErrorContains(t, err, "tallest")
	_, err = (&Settings{File: path + "x"}).Read()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestErrorsAreLocated in the file, unless a flag gives the setting.
func TestErrorsAreLocated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(path, []byte("policy: easy\norder: sjf\n"), 0o600))
	wrong := errors.New("wrong")
	s := &Settings{File: path, Flags: flags{}}
	require.Equal(t, wrong, s.Locate(wrong, "order"))
	require.ErrorContains(t, s.Locate(wrong, "policy"), path+": [1:9] policy: wrong")
	require.Equal(t, context.Canceled, s.Locate(context.Canceled, "policy"))
	require.Equal(t, wrong, (&Settings{Pool: &path, File: path}).Locate(wrong, "pool"))
	require.Equal(t, wrong, new(Settings).Locate(wrong, "policy"))
}
