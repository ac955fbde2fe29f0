// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

// A Node.js service for the end-to-end tests: it serves CPU profiles, and does nothing but what it
// is asked to.
//
//   GET /burn?cpu=5   answers when the process has used so many more seconds of CPU time: three
//                     quarters of them in render, one quarter in parse
//
// PORT is the port of 127.0.0.1 that it serves at.

'use strict'

const http = require('node:http')
const pprof = require('./pprof.js')

const round = 3e6
let sink = 0

function parse () {
  for (let i = 0; i < round; i++) sink = (sink * 31 + i) | 0
}

function render () {
  for (let i = 0; i < 3 * round; i++) sink = (sink * 31 + i) | 0
}

function handle () {
  parse()
  render()
}

function cpuSeconds () {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

// Between two rounds, other requests have their turn, as in any service.
function burn (request, response) {
  const end = cpuSeconds() + Number(new URL(request.url, 'http://localhost').searchParams.get('cpu'))
  setImmediate(function next () {
    handle()
    if (cpuSeconds() < end) setImmediate(next)
    else response.end()
  })
}

http.createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  if (pathname === '/debug/pprof/profile') pprof(request, response)
  else if (pathname === '/burn') burn(request, response)
  else response.writeHead(404).end()
}).listen(process.env.PORT, '127.0.0.1')

process.on('SIGTERM', () => process.exit())
