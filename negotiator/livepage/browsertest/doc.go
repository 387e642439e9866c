// Package browsertest tests pages in a browser, which reports whatever a page must not do: exceptions,
// warnings, requests of others. It is behind the tag browser.
//
//   - browser.go: [Main] starts the browser, [Open] opens a file and [Visit] a page of a server.
package browsertest
