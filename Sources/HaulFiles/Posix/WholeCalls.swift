import HaulLibC

/// Reads until the buffer is full or the file ends.
/// - Returns: the number of bytes read; -1 after an error, which is in `errno`.
package func readAll(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
  var length = 0
  while length < buffer.count {
    let count = read(file, buffer.baseAddress.map { $0 + length }, buffer.count - length)
    if count == 0 { break }
    if count < 0, errno != EINTR { return -1 }
    length += max(count, 0)
  }
  return length
}

/// - Returns: whether all bytes were written; if not, the error is in `errno`.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Bool {
  var length = 0
  while length < bytes.count {
    let count = write(file, bytes.baseAddress.map { $0 + length }, bytes.count - length)
    if count > 0 {
      length += count
    } else if count == 0 || errno != EINTR {
      return false
    }
  }
  return true
}
