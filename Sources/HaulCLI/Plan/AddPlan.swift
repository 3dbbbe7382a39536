import ArgumentParser
package import HaulCore

/// Everything that `haul add` adds, made from the options without side effects.
package struct AddPlan: Hashable, Sendable {
  package var requests: [TransferRequest]
  /// The ids, beginnings of ids or names of the transfers that must complete first.
  package var after: [String]
  package var json: Bool
  package var quiet: Bool
  package var notes: [String] = []
}

extension AddPlan {
  /// - Throws: when options contradict each other or a value is wrong; nothing was added.
  init(_ command: AddCommand, _ sources: CommandSources) throws(UsageError) {
    (json, quiet) = (command.json, command.quiet)
    after = command.queue.after
    let isRemote = !command.isUpload && !command.run && PutPlan.isRemote(command.destination.output)
    guard command.isUpload || !command.hasUploadOptions && (isRemote || command.s3.isEmpty) else {
      throw UsageError("--method, --if-match and the options of S3 are for uploads: add --put")
    }
    if command.isUpload {
      requests = try PutPlan(try PutCommand(command), sources).requests.map {
        TransferRequest(.upload($0))
      }
    } else if command.run {
      guard !command.arguments.isEmpty else { throw UsageError("--run: give the program after --") }
      guard command.destination.output == nil else {
        throw UsageError("-o names the file of a download; --run has none")
      }
      guard command.queue.rateLimit == nil else {
        throw UsageError("--limit-rate is for a download; --run has none")
      }
      requests = [TransferRequest.step(program: command.arguments)]
    } else if isRemote {
      requests = try PutPlan(try GetCommand(command), sources).requests.map {
        TransferRequest(.upload($0))
      }
    } else {
      let plan = try GetPlan(try GetCommand(command), sources)
      guard !plan.output.streams else {
        throw UsageError("-o -: the daemon has no standard output")
      }
      requests = plan.requests.map { TransferRequest(.download($0)) }
      notes = plan.notes
    }
    let queue = command.queue
    guard queue.identifier != "", queue.group != "" else {
      throw UsageError("--id and --group must not be empty")
    }
    if queue.identifier != nil, requests.count > 1 {
      throw UsageError("--id is the name of one transfer, but there are several")
    }
    let startsAt = try queue.at.map { (text) throws(UsageError) in
      try LocalTime.seconds(text, at: sources.wallSeconds)
    }
    for index in requests.indices {
      requests[index].startsAt = startsAt
      requests[index].identifier = queue.identifier
      requests[index].group = queue.group
      requests[index].priority = queue.priority
      // A list may have another limit for one of its addresses.
      if let rate = queue.rateLimit, requests[index].rateLimit == nil {
        requests[index].rateLimit = rate
      }
      requests[index].reportsProgress = !queue.noProgressEvents
    }
  }
}

extension AddCommand {
  fileprivate var isUpload: Bool { put || !form.isEmpty }

  fileprivate var hasUploadOptions: Bool { method != nil || ifMatch != nil }
}

extension PutCommand {
  /// The same uploads, with the defaults of the options that belong to the daemon.
  fileprivate init(_ command: AddCommand) throws(UsageError) {
    guard !command.run else { throw UsageError("an upload and --run contradict each other") }
    guard command.destination.output == nil, command.content.inputFiles.isEmpty,
      command.content.checksums.isEmpty
    else { throw UsageError("-o, -i and --checksum are for downloads; --put has none of them") }
    let given = command.arguments.dropLast().first { PutPlan.descriptor($0) != nil }
    if let given {
      throw UsageError(
        "\(given): the daemon has no such input; save it to a file, or use 'haul put'")
    }
    do {
      self = try PutCommand.parse([])
    } catch {
      throw UsageError(ParserMessage.line(PutCommand.message(for: error)))
    }
    (arguments, method, ifMatch) = (command.arguments, command.method, command.ifMatch)
    (form, s3) = (command.form, command.s3)
    switch command.destination.ifExists {
    // The default of downloads, for which uploads have their own.
    case .update: break
    case .overwrite: ifExists = true
    case .fail: ifExists = false
    case .skip, .rename:
      throw UsageError("--if-exists: for an upload, use overwrite or fail")
    }
    credentials = command.credentials
    requests = command.requests
  }
}

extension GetCommand {
  /// The same downloads, with the defaults of the options that belong to the daemon.
  fileprivate init(_ command: AddCommand) throws(UsageError) {
    do {
      self = try GetCommand.parse([])
    } catch {
      throw UsageError(ParserMessage.line(GetCommand.message(for: error)))
    }
    urls = command.arguments
    (destination, content, credentials) = (
      command.destination, command.content, command.credentials
    )
    ranges = command.ranges
    s3 = command.s3
    requests = command.requests
  }
}
