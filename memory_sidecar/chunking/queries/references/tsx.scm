; TSX.
; include typescript
; include jsx
