package livepage

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

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
	page, err := index(files, drawing.Files())
	if err != nil {
		panic("internal error: " + err.Error())
	}
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	mux.Handle("GET /assets/drawing/", http.StripPrefix("/assets/drawing/", http.FileServerFS(drawing.Files())))
	mux.HandleFunc("GET /assets/drawing/colours.css", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(out, drawing.Colours()) // the client may have gone
	})
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = out.Write(page) // the client may have gone
	})
}

// index returns the page. It has the browser load the picture and all modules at once: otherwise each
// level of imports costs the time that a request takes, and the picture comes last.
func index(files, shared fs.FS) ([]byte, error) {
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		return nil, err
	}
	own, err := preloads(files, "assets/")
	if err != nil {
		return nil, err
	}
	others, err := preloads(shared, "assets/drawing/")
	if err != nil {
		return nil, err
	}
	links := "<link rel=\"preload\" href=\"api/v1/picture\" as=\"fetch\" crossorigin>\n" + own + others
	return bytes.Replace(page, []byte("</head>"), []byte(links+"</head>"), 1), nil
}

// preloads returns a link for each module of a folder.
func preloads(files fs.FS, folder string) (string, error) {
	names, err := fs.Glob(files, "*.js")
	if err != nil {
		return "", err
	}
	var links strings.Builder
	for _, name := range names {
		text, problem := fs.ReadFile(files, name)
		if problem != nil {
			return "", problem
		}
		if isModule(string(text)) {
			fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"%s%s\">\n", folder, name)
		}
	}
	return links.String(), nil
}

// isModule reports whether a script imports or exports something.
func isModule(text string) bool {
	text = "\n" + text
	return strings.Contains(text, "\nimport ") || strings.Contains(text, "\nexport ")
}
