// Package livepage serves a pool as a page: what runs and what is planned on which slot, who waits and
// until when, how true promises were, how the pool is used, and what would be if something were
// otherwise. The page is the same for a real pool and for a simulated one.
//
//   - livepage.go: a [Server] is told of [picture.Picture]s, and is an [http.Handler];
//   - serve.go: the web server, behind the guard of package access; send.go how answers are sent;
//   - hub.go: viewers get each picture as a difference from the last one, by server-sent events; seats.go bounds them;
//   - names.go: what of names a viewer sees;
//   - routes.go: what is served, and openapi.json, which describes it;
//   - api.go: the JSON API behind the page; queue.go: the list of those who wait; pool.go: how the pool is used;
//     explain.go: what sources say of jobs and users, in the API's terms;
//   - assets: the page itself, in plain ES modules, which static.go serves with those of package drawing.
package livepage
