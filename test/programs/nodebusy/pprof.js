// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

'use strict'

const { setTimeout: sleep } = require('node:timers/promises')
const { time, encode } = require('@datadog/pprof')

const abandoned = 120_000 // ms without a request, after which the profiler stops
let answering = false
let stopping

// Answers GET /debug/pprof/profile?seconds=N in N seconds. The profiler runs on between requests, and
// each answer has everything since the one before: nothing is missed, however long N is.
module.exports = async function pprof (request, response) {
  const seconds = Number(new URL(request.url, 'http://localhost').searchParams.get('seconds') ?? 30)
  if (answering) {
    response.writeHead(500).end('another request is being answered\n')
    return
  }
  answering = true
  clearTimeout(stopping)
  if (!time.isStarted()) {
    // Only with contexts does the profiler know CPU time, and not just time that passed.
    time.start({ durationMillis: abandoned, intervalMicros: 10_000, withContexts: true, collectCpuTime: true })
  }
  await sleep(seconds * 1000)
  answering = false
  stopping = setTimeout(() => time.stop(), abandoned).unref()
  if (response.destroyed) return // nobody waits any more, so the next answer has it
  const profile = await encode(time.stop(true))
  response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end(profile)
}
