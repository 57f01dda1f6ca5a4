/** Texts that are code, somewhere. */
export const HOSTILE = [
  '<script>alert(1)</script>',
  `"><img src=x onerror=alert(1)>`,
  `' or 1=1; drop table shedlock; --`,
  '</title></style><svg onload=alert(1)>',
  'javascript:alert(1)',
  '${7*7}{{7*7}}',
  '&lt;b&gt; &amp;',
  'gpj\u202Eexe.',
  'ESC\u001B[31m',
  'two\r\nlines',
  'nul\u0000',
  'größe 名前 😀',
  '?action=release&name=x#y',
  '%00%2e%2e%2f',
  '\\u003cscript\\u003e',
]
