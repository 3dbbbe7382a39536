import HaulCore

/// The addresses that patterns of a command line stand for.
struct ExpandedAddresses: Sendable {
  /// The values of the patterns, by the bytes of the address.
  var values: [[UInt8]: [String]] = [:]
  /// For the user: how many addresses each stands for.
  var notes: [String] = []
}

extension FetchingCommand {
  /// The same command with the addresses that its patterns stand for; nil if it has none. Those of
  /// lists are taken as they are: the author of a list can write each address, and lists are often
  /// made by programs, whose brackets and braces are text.
  func expanded(
    _ sources: CommandSources
  ) throws(UsageError) -> (command: Self, sources: CommandSources)? {
    guard content.glob != false else { return nil }
    let limit = content.globLimit ?? 10_000
    var (addresses, sources, left, isChanged) = ([String](), sources, limit, false)
    for text in urls {
      let pattern: AddressPattern
      do {
        pattern = try AddressPattern(text)
      } catch {
        throw UsageError(
          "\(AddressArgument.redacted(text)): \(error.message); --no-glob takes it as it is")
      }
      let (first, last) = (pattern[0], pattern[pattern.count - 1])
      guard pattern.isPattern else {
        isChanged = isChanged || !first.text.isByteEqual(text)
        addresses.append(first.text)
        continue
      }
      let (shown, count) = (AddressArgument.redacted(first.text), pattern.count)
      guard count <= left else {
        let most = count == .max ? "too many" : Units.count(count)
        throw UsageError(
          "\(AddressArgument.redacted(text)) stands for \(most) addresses, from \(shown) on; at "
            + "most \(Units.count(limit)) are expanded: --glob-limit N allows more, and --no-glob "
            + "takes it as it is")
      }
      (left, isChanged) = (left - count, true)
      for index in 0..<count {
        let (address, values) = pattern[index]
        addresses.append(address)
        sources.expanded.values[Array(address.utf8)] = values
      }
      sources.expanded.notes.append(
        "\(Units.count(count)) addresses: \(shown) to \(AddressArgument.redacted(last.text))")
    }
    guard isChanged else { return nil }
    var command = self
    (command.urls, command.content.glob) = (addresses, false)
    return (command, sources)
  }
}
