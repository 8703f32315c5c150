; TSX.
; include typescript
