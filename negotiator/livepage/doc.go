// Package livepage serves a pool as a page: what runs and what is planned on which slot, who waits and
// until when, how true promises were, how the pool is used, and what would be if something were
// otherwise. The page is the same for a real pool and for a simulated one.
//
//   - livepage.go: a [Server] is told of [picture.Picture]s, and is an [http.Handler];
//   - serve.go: the web server, behind the guard of package access; send.go how answers are sent;
//   - hub.go: viewers get each picture as a difference from the last one, by server-sent events; seats.go bounds them;
//   - routes.go: what the API has, and openapi.json, which describes it; names.go: what of names a viewer sees;
//   - api.go: the JSON API behind the page; queue.go: the list of those who wait; pool.go, used.go: how the pool is used;
//     memo.go: answers that are made once; explain.go: what sources say of jobs and users, in the API's terms;
//   - assets: the page itself, in plain ES modules, which static.go serves with those of package drawing: app.js is
//     the shell around the views now.js, queue.js, job.js, promises.js, pool.js and whatif.js; store.js has the
//     picture and its differences, fresh.js loads what follows from them, words.js says instants and amounts,
//     table.js, charts.js and dom.js make what is shown, and asked.js the answers to what-ifs.
package livepage
