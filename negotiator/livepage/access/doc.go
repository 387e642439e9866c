// Package access decides who may look at what is served over HTTP, and whose names they see.
//
// A [Guard] stands before all handlers. On an address that only this machine reaches, whoever is on
// it may look; every other address needs TLS and a token ([New] refuses it else, and says what to
// do). A viewer shows a token of a file ([Options.TokenFile]) or of the pool ([Options.Bearer]), in
// each request or once at the sign-in page, which gives him a session. The handlers ask [Of] who he
// is, and a [Lens] what he may read of names.
//
// Files: access.go (the guard), address.go (which addresses are refused), tls.go; tokens.go (the file),
// sessions.go and signin.go (signin.html, signin.css) for browsers; failures.go (bounds of what wrong
// tokens cost); host.go (by which names requests call this machine); headers.go; viewer.go; names.go
// and scrub.go (pseudonyms).
package access
