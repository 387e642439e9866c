//go:build browser

package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// View is the size and theme in which to show a page.
type View struct {
	Width, Height int64
	Dark          bool
	// Breaks says that connections break, so that the browser's word of it is no fault.
	Breaks bool
}

// Page is a page in a browser. Its context is for chromedp.
type Page struct {
	testing.TB
	context.Context
}

// started is the browser of all pages, as a context for chromedp; nil: there is none.
var started context.Context //nolint:gochecknoglobals // set by Main before any test

// Main runs the tests of a package, with one browser for all of them: to start one takes longer than
// most tests. It returns the exit code.
func Main(m *testing.M) int {
	path := browser()
	if path == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	//nolint:gocritic // the array is copied, as it has no room
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocated)
	defer cancel()
	if err = chromedp.Do(ctx); err != nil {
		return fail(err)
	}
	started = ctx
	return m.Run()
}

func fail(err error) int {
	_, _ = os.Stderr.WriteString(err.Error() + "\n")
	return 1
}

// Open opens a file in a tab of its own, and skips the test if there is no browser. The test fails
// if the page logs an error or requests anything but itself.
func Open(tb testing.TB, file string, v View) *Page {
	tb.Helper()
	if started == nil {
		tb.Skip("skipped: no Chromium is installed")
	}
	absolute, err := filepath.Abs(file)
	require.NoError(tb, err)
	return open(tb, "file://"+absolute, "file://"+absolute, v)
}

// Visit opens a page of a server, which has an address such as http://127.0.0.1:9620, in a tab of its own;
// path begins with a slash. The test is skipped, or fails, as with [Open].
func Visit(tb testing.TB, server, path string, v View) *Page {
	tb.Helper()
	if started == nil {
		tb.Skip("skipped: no Chromium is installed")
	}
	return open(tb, server+path, server+"/", v)
}

// open opens an address; what the page requests begins with self.
func open(tb testing.TB, address, self string, v View) *Page {
	tb.Helper()
	ctx, cancel := chromedp.NewContext(started, chromedp.WithListener(watch(tb, self, v.Breaks)))
	tb.Cleanup(cancel)
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	p := &Page{TB: tb, Context: ctx}
	p.Do(chromedp.EmulateViewport(v.Width, v.Height))
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{
			Name:  "prefers-color-scheme",
			Value: scheme,
		}}})
	p.Do(chromedp.Navigate(address))
	return p
}

// call sends a command of the browser's protocol; an error fails the test.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) {
	p.Helper()
	_, err := chromedp.Call(p.Context, command, params)
	require.NoError(p, err)
}

// browser returns the path of a Chromium in $PATH; "" if there is none.
func browser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// watch returns a listener for the browser's events. The test fails if the page throws an
// exception, logs a warning or an error, or requests what does not begin with self. That connections break is no
// fault if they may.
func watch(tb testing.TB, self string, breaks bool) func(any) {
	tb.Helper()
	var mu sync.Mutex
	var faults []string
	tb.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		require.Empty(tb, faults, "what the page did")
	})
	return func(event any) {
		fault := ""
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			fault = "exception: " + e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				fault += " " + e.ExceptionDetails.Exception.Description
			}
		case *runtime.EventConsoleAPICalled:
			if e.Type != "log" && e.Type != "debug" && e.Type != "info" {
				fault = "console: " + string(e.Type)
			}
		case *log.EventEntryAdded:
			if e.Entry.Level != log.EntryLevelVerbose && (!breaks || e.Entry.Source != "network") {
				fault = "log: " + e.Entry.Text
			}
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; !strings.HasPrefix(url, self) && !strings.HasPrefix(url, "data:") {
				fault = "request: " + url
			}
		}
		if fault != "" {
			mu.Lock()
			faults = append(faults, fault)
			mu.Unlock()
		}
	}
}

// Do performs actions on the page.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	require.NoError(p, chromedp.Do(p.Context, actions...))
}

// Ask returns the result of an action on the page.
func Ask[T any](p *Page, action chromedp.Action[T]) T {
	p.Helper()
	value, err := chromedp.Run(p.Context, action)
	require.NoError(p, err)
	return value
}

// Eval returns the value of an expression of JavaScript in the page; it waits for promises.
func Eval[T any](p *Page, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p, err, expression)
	return value
}

// PDF returns the page as printed.
func (p *Page) PDF() []byte {
	p.Helper()
	return Ask(p, chromedp.PrintToPDF(chromedp.PDFPrintBackground(), chromedp.PDFPreferCSSPageSize()))
}

// Shot stores a picture of the visible part, or of the whole page, in the folder $SCREENSHOTS, if
// that is set.
func (p *Page) Shot(name string, whole bool) {
	p.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	require.NoError(p, os.WriteFile(filepath.Join(dir, name+".png"), Ask(p, take), 0o600))
}
