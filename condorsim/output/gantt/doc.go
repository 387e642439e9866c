// Package gantt makes a page that shows which job ran where and when: one HTML file that needs no
// network, zooms and pans smoothly over tens of thousands of jobs, and shows for each job what it
// was promised and what it got.
//
// A tour:
//
//   - [New] takes a finished simulation and returns a [Chart]; [Chart.Write] writes the page.
//   - Package lanes finds the lanes of each job: the rows of the chart, one for each cpu of a slot, in
//     which the job is drawn. The simulator only counts cpus.
//   - encode.go encodes the jobs as columns of small numbers, about 25 bytes a job.
//   - assets/*.js decode the columns (data.js), draw the visible part (draw.js, overview.js) and say
//     what is chosen (panel.js, main.js). What they share with the live page, such as what is visible
//     and how it is moved, is in package drawing.
package gantt
