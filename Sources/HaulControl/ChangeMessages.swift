package import HaulCore

/// The body of `PATCH /api/v1/transfers`: one change of several transfers.
package struct ChangesBody: Codable, Hashable, Sendable {
  package var transfers: Selection
  package var change: ChangeBody

  enum CodingKeys: String, CodingKey { case transfers, change }

  package init(_ change: ChangeBody, of transfers: Selection) {
    (self.change, self.transfers) = (change, transfers)
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.strictContainer(keyedBy: CodingKeys.self)
    transfers = try object.decode(Selection.self, forKey: .transfers)
    change = try object.decode(ChangeBody.self, forKey: .change)
  }
}

/// The answer: what was changed, and what was refused.
package struct ChangesResponse: Codable, Hashable, Sendable {
  package struct Refusal: Codable, Hashable, Sendable {
    package var id: TransferID
    package var message: String

    package init(id: TransferID, message: String) { (self.id, self.message) = (id, message) }
  }

  /// The transfers of the selection.
  package var ids: [TransferID]
  package var refused: [Refusal]

  package init(ids: [TransferID], refused: [Refusal]) { (self.ids, self.refused) = (ids, refused) }
}
