package livepage_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/drawing"
)

// Everything that the page refers to, and that its modules import, is there.
func TestThePageIsWhole(t *testing.T) {
	s := livepage.New(nil, "e1")
	get := func(path string) string {
		out := httptest.NewRecorder()
		s.ServeHTTP(out, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, out.Code, path)
		return out.Body.String()
	}
	page := get("/")
	seen := map[string]bool{}
	var follow func(path string)
	follow = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		text := get(path)
		for _, m := range regexp.MustCompile(`(?m)^import .* from "\./(.*)";$`).FindAllStringSubmatch(text, -1) {
			folder := path[:len(path)-len(regexp.MustCompile(`[^/]*$`).FindString(path))]
			follow(folder + m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="(assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		follow("/" + m[1])
	}
	require.Contains(t, seen, "/assets/now.js")
	require.Contains(t, seen, "/assets/now.css")
	for _, name := range []string{"view.js", "times.js", "sheet.js"} {
		require.Contains(t, seen, "/assets/drawing/"+name)
		require.Contains(t, page, `<link rel="modulepreload" href="assets/drawing/`+name+`">`)
	}
	require.NotContains(t, page, `modulepreload" href="assets/drawing/theme.js`, "it is no module")
	names, err := fs.Glob(drawing.Files(), "*")
	require.NoError(t, err)
	for _, name := range names {
		get("/assets/drawing/" + name)
	}
	require.Contains(t, get("/assets/drawing/colours.css"), "--s0:")
}
