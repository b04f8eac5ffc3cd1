// Ends a run of `.ci/run`: each failed test with the start of its message, then the line "N passed, N failed".
// `node .ci/sum-up.mjs FAILED_STEPS REPORT…`. A test that failed beside others and passed alone has passed, and is listed.
// `--failed-files REPORT` prints the files worth a second try, none if too many failed; `--files-with-skipped REPORT` those
// with a test that did not run, and `--files-passed REPORT` those of which every test passed at once.
// Plain JavaScript, because it also runs where `npm ci` failed.
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** Logs are often cut to their end, so a failure is told there again, and shortly. */
const linesOfMessage = 12

/** More failed files than this are no accident of a busy machine. */
const mostFilesAgain = 5

const [first, ...paths] = process.argv.slice(2)
const sums = { passed: 0, failed: 0 }
if (first === '--failed-files') printFailedFiles(paths[0])
else if (first === '--files-with-skipped') printFiles(paths[0], isAnySkipped)
else if (first === '--files-passed') printFiles(paths[0], isAllPassed)
else sumUp(Number(first))

function printFailedFiles(path) {
  const failed = readReport(path).testResults.filter(({ status }) => status === 'failed')
  if (failed.length <= mostFilesAgain) print(namesOf(failed).join(' '))
}

/** A report that is missing has no files. */
function printFiles(path, isChosen) {
  const files = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : []
  print(namesOf(files.filter(isChosen)).join(' '))
}

function namesOf(files) {
  return files.map(({ name }) => relative(process.cwd(), name))
}

function isAnySkipped({ assertionResults }) {
  return assertionResults.some(({ status }) => status !== 'passed' && status !== 'failed')
}

function isAllPassed({ status, assertionResults }) {
  return status === 'passed' && assertionResults.every(test => test.status === 'passed')
}

function sumUp(failedSteps) {
  sums.failed = failedSteps
  for (const path of paths) {
    const report = readReport(path)
    // A step that failed before the tests has been counted already.
    if (!report) sums.failed ||= 1
    else addReport(path, report)
  }
  print(`${sums.passed} passed, ${sums.failed} failed`)
  process.exitCode = sums.failed > 0 || sums.passed === 0 ? 1 : 0
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    print(`no report: ${path}`)
    return null
  }
}

function addReport(path, report) {
  const againPath = path.replace(/\.json$/, '-again.json')
  const again = existsSync(againPath) ? (readReport(againPath)?.testResults ?? []) : []
  for (const file of report.testResults)
    addFile(
      file,
      again.find(({ name }) => name === file.name),
      path,
    )
}

function addFile(file, again, path) {
  const name = relative(process.cwd(), file.name)
  const testsAgain = new Map(again?.assertionResults.map(test => [test.fullName, test]))
  // A file that could not even begin has no tests in its first report.
  const fileFailed = file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed')
  if (fileFailed && again?.status !== 'passed') return fail(name, file.message)
  if (fileFailed) passedAlone(name, file.message)
  for (const test of fileFailed ? again.assertionResults : file.assertionResults) {
    const title = `${name} > ${test.fullName}`
    if (test.status === 'passed') sums.passed += 1
    else if (test.status === 'failed' && testsAgain.get(test.fullName)?.status === 'passed') {
      sums.passed += 1
      passedAlone(title, test.failureMessages[0])
    } else if (test.status === 'failed') fail(title, test.failureMessages[0])
    // With everything installed nothing is left out; on a bare PATH some tests are.
    else if (!path.includes('/bare-')) fail(title, `not run: ${test.status}`)
  }
}

function fail(title, message) {
  sums.failed += 1
  tell(`FAILED ${title}`, message)
}

function passedAlone(title, message) {
  tell(`PASSED ON A SECOND TRY ${title}`, message)
}

function tell(headline, message = '') {
  const lines = stripVTControlCharacters(message).split('\n').slice(0, linesOfMessage)
  print([headline, ...lines.map(line => `    ${line}`)].join('\n'))
}

function print(line) {
  process.stdout.write(`${line}\n`)
}
