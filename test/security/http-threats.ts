import { shown, type Threat } from './threat.ts'

/** Threats to the service from requests over HTTP (G). */
export const httpThreats: readonly Threat[] = [
  {
    id: 'G1',
    threat: 'a URL that leads into the operator’s own network, by any spelling, name or redirect',
    answer: 'no request is sent there; the connection goes to the address that was checked',
    shownBy: [
      shown(
        'service/media/guarded-fetcher.test.ts',
        'G1: a redirect to a private address is refused as if it had been named',
        'G1: what reads as two hosts is the one that would be asked',
      ),
      shown(
        'service/media/private-addresses.test.ts',
        'G1: a name server that changes its mind is asked once, and its second answer counts for nothing',
      ),
      shown('service/video-transcription.test.ts', 'G1 the guarded fetcher stands before every private address'),
    ],
  },
  {
    id: 'G2',
    threat: 'members and headers that try to choose a model’s upstream, its key or its headers',
    answer: 'no other server is called, and the operator’s key goes only to its own upstream',
    shownBy: [
      shown(
        'service/upstream-attacks.test.ts',
        'G2: no member of a request chooses who is asked, or with which key',
        'G2: and no header of it goes on, the caller’s key least of all',
      ),
    ],
  },
  {
    id: 'G3',
    threat: 'requests with two conflicting lengths, and line breaks in header values',
    answer: '400, and nothing after it is answered; no text from a caller or an upstream can start a header',
    shownBy: [
      shown(
        'service/socket-attacks.test.ts',
        'G3: a length and chunks: one refusal, and what lies behind is not answered',
        'G3: what belongs to the connection is not taken for the request’s',
      ),
      shown('service/http-attacks.test.ts', 'G3: a model begins no header and no answer of its own'),
      shown('service/upstream-attacks.test.ts', 'G3: no header of an upstream’s answer goes on to the caller'),
    ],
  },
  {
    id: 'G4',
    threat:
      'endless bodies and headers, bodies that decompress to a thousand times their size, or in pieces of one byte each',
    answer: '413, 415 or 431, before they are read or decompressed; small pieces are copied together',
    shownBy: [
      shown(
        'service/socket-attacks.test.ts',
        'G4: a bomb of br is not unpacked',
        'G4: a body of /api/v1/video/queue that announces more than it may have is not waited for',
        'G4: a body in pieces of one byte takes no more memory than its bytes',
        'G4: headers without end',
      ),
    ],
  },
  {
    id: 'G5',
    threat: 'JSON nested a million levels deep, or with more than 50,000 values (320,000 for embeddings)',
    answer: '400 at every operation, before an object is built from it',
    shownBy: [
      shown(
        'service/http-attacks.test.ts',
        'G5: createChatCompletion refuses nesting that is deeper than any request',
        'G5: queueVideo refuses nesting that is deeper than any request',
      ),
      shown(
        'service/large-bodies.test.ts',
        'G5: a body of more values than any request has is refused by their number: /chat/completions',
      ),
    ],
  },
  {
    id: 'G6',
    threat: 'text that makes a regular expression run for hours, and a million addresses in a message',
    answer: 'every text is read once, in linear time, and only the first addresses are used',
    shownBy: [
      shown(
        'service/http-attacks.test.ts',
        'G6: options, in the name of a model',
        'G6: dots after an address, in a message whose addresses are read',
        'G6: spaces before a word, wherever else a text is taken',
      ),
      shown('contract/model-suffix.test.ts', 'G6: a suffix that is longer than all options is not read'),
      shown('contract/near-names.test.ts', 'G6: a name that is longer than any'),
      shown('service/chat-web-addresses.test.ts', 'G6: of many addresses that cannot be read, few are looked at'),
    ],
  },
  {
    id: 'G7',
    threat: 'thousands of connections that send or read nothing',
    answer: 'closed at their deadline; the number of connections is limited',
    shownBy: [
      shown(
        'service/socket-attacks.test.ts',
        'G7: half a header is cut off in its time',
        'G7: so is half a body',
        'G7: more connections than there may be are closed unread',
      ),
      shown('service/bodies.test.ts', 'S10, G7: a reader who stalls'),
    ],
  },
  {
    id: 'G8',
    threat: 'members, options and query parameters such as __proto__',
    answer: 'dropped; no object gets them',
    shownBy: [
      shown(
        'service/http-attacks.test.ts',
        'G8: createChatCompletion takes no member for a part of every object',
        'G8: nor does the suffix demo-chat:__proto__=1',
        'G8: nor the query /models?__proto__=1',
      ),
    ],
  },
  {
    id: 'G9',
    threat: 'disconnecting from a stream at any event',
    answer: 'the engine continues unread for up to 30 s, and its work is charged',
    shownBy: [
      shown(
        'service/chat-left.test.ts',
        'a stream whose reader leaves continues unread, and is charged by the engine’s usage',
        'is aborted 30 s after the reader left, and what it made is counted',
      ),
    ],
  },
  {
    id: 'G10',
    threat: 'an engine that reports usage beyond every estimate',
    answer: 'never more than the hold is charged',
    shownBy: [shown('service/chat-charges.test.ts', 'S4, G10: an engine that uses more than the hold')],
  },
  {
    id: 'G11',
    threat: 'other headers, keys or spellings, to count as another caller',
    answer: 'counted as the same caller',
    shownBy: [
      shown(
        'service/http-attacks.test.ts',
        'G11: no header makes an unidentified caller count as another one',
        'G11: other keys, and another spelling of a model, are under the same limit',
      ),
    ],
  },
  {
    id: 'G12',
    threat: '500 calls at once at a limit of 50',
    answer: 'exactly 50 are answered',
    shownBy: [
      shown('service/http-attacks.test.ts', 'G12: of 500 calls at once at a limit of 50 exactly 50 are answered'),
    ],
  },
  {
    id: 'G13',
    threat: 'line breaks and terminal escape sequences in what is logged',
    answer: 'the log contains no text from callers',
    shownBy: [
      shown(
        'service/http-attacks.test.ts',
        'G13: a model is in no line that is logged',
        'G13: a path that is not there is in no line that is logged',
      ),
    ],
  },
  {
    id: 'G14',
    threat: 'ids that are file paths',
    answer: 'a name from a caller never opens a file',
    shownBy: [shown('service/http-attacks.test.ts', 'G14: ../../../../etc/passwd leads to no file')],
  },
  {
    id: 'G15',
    threat: 'a download link that is forged, extended, or used for another file',
    answer: '404; after a day 410',
    shownBy: [
      shown(
        'service/download-attacks.test.ts',
        'G15: no character of a signature can be another one',
        'G15: its time cannot be extended, nor written otherwise',
        'G15: it serves no other job, and one of another secret serves none',
        'G15: it ends with its day, whatever is asked',
      ),
    ],
  },
  {
    id: 'G16',
    threat: 'a dependency that is replaced, or runs code when it is installed',
    answer: 'one dependency in one version, hashes in the lock file, and no new install script',
    shownBy: [
      shown(
        'build/supply-chain.test.ts',
        'G16: every package comes from the registry, with the hash of its bytes',
        'G16: a package that wants to run by being installed is known, and one alone may',
        'G16: installing farebox installs one dependency, in one version, and runs no script',
      ),
    ],
  },
  {
    id: 'G17',
    threat: 'many large bodies at once, to fill the memory',
    answer:
      'a limit for the process and a share for each caller, then 429 with Retry-After, which does not count towards the abuse block',
    shownBy: [shown('service/body-room.test.ts', 'G17: bodies of requests under way have a share of the memory each…')],
  },
  {
    id: 'G18',
    threat: 'large bodies of a caller who has not identified itself',
    answer: '413 above 64 KiB',
    shownBy: [shown('service/body-room.test.ts', 'G18: operations without credentials')],
  },
  {
    id: 'G19',
    threat: 'members that change what an engine does: a looping template, code, weights, an endless answer',
    answer: 'accepted, but not passed to the engine unless the operator lists them',
    shownBy: [
      shown(
        'service/unpublished-members.test.ts',
        'G19: a template that loops',
        'G19: nor one within a published one: of a message of each role',
      ),
    ],
  },
  {
    id: 'G20',
    threat: 'a Forwarded header that is slow to parse, or that hides another address in quotes',
    answer: 'parsed once from left to right, 4,096 characters at most; only the parameter named `for` counts',
    shownBy: [
      shown(
        'access/identity/trusted-proxies.test.ts',
        'some dozen characters',
        'thousands of characters',
        'Forwarded, a quoted value that only looks like a for',
        'Forwarded, a for only within a quote',
      ),
    ],
  },
  {
    id: 'G21',
    threat: 'a small file that is expensive to read: millions of samples, hours of silence, deeply nested boxes',
    answer: '400, judged by its tables and headers before a packet is read or decoded',
    shownBy: [
      shown(
        'engines/video-media/media-rules.test.ts',
        'refused: G21: a million and a half frames of one byte each',
        'refused: G21: boxes within each other',
      ),
      shown('host/media/whole.test.ts', 'is refused for what it is: heads of frames without their frames'),
      shown(
        'service/capabilities/audio/wav-claims.test.ts',
        'G21: hours of silence at the highest rate are not decoded',
      ),
    ],
  },
  {
    id: 'G22',
    threat: 'small requests that name large files, to fill the memory',
    answer: 'fetched bytes count as part of the request’s body until the answer is sent; beyond the limit 429',
    shownBy: [
      shown(
        'service/fetched-bytes.test.ts',
        'G22: what is fetched for a call counts with its body',
        'G22: what arrives counts at once, and a fetch that finds no more room is ended',
      ),
    ],
  },
  {
    id: 'G23',
    threat: 'truncated or mislabelled audio or video in a chat, which would be charged anyway',
    answer: 'checked by its bytes and complete, or 400 before anything is held',
    shownBy: [
      shown(
        'service/chat-sent-media.test.ts',
        'G23: an MP3 that is cut off is refused before anything is held',
        'G23: an MP4 that is cut off is refused before anything is held',
        'G23: an MP3 that is said to be a WAV is refused before anything is held',
      ),
    ],
  },
]
