package livepage

import (
	"embed"
	"io"
	"io/fs"
	"net/http"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/drawing"
)

//go:embed assets
var assets embed.FS

// static adds the page and its parts: /assets has the page's own files, /assets/drawing those of
// package drawing, with the colours of charts as the style colours.css.
func static(mux *http.ServeMux) {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic("internal error: " + err.Error())
	}
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	mux.Handle("GET /assets/drawing/", http.StripPrefix("/assets/drawing/", http.FileServerFS(drawing.Files())))
	mux.HandleFunc("GET /assets/drawing/colours.css", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(out, drawing.Colours()) // the client may have gone
	})
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(out, r, files, "index.html")
	})
}
