package choose

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	if testing.Short() {
		t.Skip("starts plugins")
	}
	dir := t.TempDir()
	mine := plugin(t, filepath.Join(dir, "backfill-mine"), "maui")
	for _, c := range []struct {
		name         string
		request      Request
		policy, path string
		err          string
	}{
		{name: "linked in", request: Request{Policy: "firstfit"}, policy: "first-fit"},
		{name: "a plugin by name", request: Request{Policy: "mine", Dirs: []string{dir}}, policy: "maui", path: mine},
		{name: "a path", request: Request{Policy: mine}, policy: "maui", path: mine},
		{
			name: "options are not set", request: Request{Policy: mine, Options: map[string]string{"nonesuch": "1"}},
			policy: "maui", path: mine,
		},
		{name: "no name", err: "no policy is named"},
		{name: "unknown", request: Request{Policy: "mine"}, err: `unknown policy "mine"`},
		{name: "no plugin", request: Request{Policy: dir}, err: "is not a policy plugin: is a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, path, err := Describe(t.Context(), choice(c.request))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.policy, spec.Name)
			require.NoError(t, spec.Validate())
			require.Equal(t, c.path, path)
		})
	}
}
