// Ends a run of `.ci/run`: each failed test with the start of its message, then the line "N passed, N failed".
// `node .ci/sum-up.mjs FAILED_STEPS REPORT…`. Plain JavaScript, because it also runs where `npm ci` failed.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** Logs are often cut to their end, so a failure is told there again, and shortly. */
const linesOfMessage = 12

const [failedSteps, ...paths] = process.argv.slice(2)
const sums = { passed: 0, failed: Number(failedSteps) }
for (const path of paths) {
  const report = readReport(path)
  // A step that failed before the tests has been counted already.
  if (!report) sums.failed ||= 1
  else addReport(path, report)
}
print(`${sums.passed} passed, ${sums.failed} failed`)
process.exitCode = sums.failed > 0 || sums.passed === 0 ? 1 : 0

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    print(`no report: ${path}`)
    return null
  }
}

function addReport(path, report) {
  sums.passed += report.numPassedTests
  for (const file of report.testResults) {
    const name = relative(process.cwd(), file.name)
    const failed = file.assertionResults.filter(({ status }) => status === 'failed')
    for (const test of failed) fail(`${name} > ${test.fullName}`, test.failureMessages[0])
    if (file.status === 'failed' && failed.length === 0) fail(name, file.message)
    // With everything installed nothing is left out; on a bare PATH some tests are.
    const leftOut = file.assertionResults.filter(({ status }) => !['passed', 'failed'].includes(status))
    if (!path.includes('/bare-'))
      for (const test of leftOut) fail(`${name} > ${test.fullName}`, `not run: ${test.status}`)
  }
}

function fail(title, message = '') {
  sums.failed += 1
  const lines = stripVTControlCharacters(message).split('\n').slice(0, linesOfMessage)
  print([`FAILED ${title}`, ...lines.map(line => `    ${line}`)].join('\n'))
}

function print(line) {
  process.stdout.write(`${line}\n`)
}
